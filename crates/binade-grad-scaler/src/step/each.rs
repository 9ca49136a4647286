//! A scale for each loss: one step, several scalers.

use super::pending::{Part, StepRecord};
use crate::{GradScaler, PendingStep, Scaler, StepOutcome};
use std::sync::Arc;

impl<D: GradScaler> Scaler<D> {
    /// Ends an iteration whose losses have a scaler each, as Apex's `num_losses`: each scale moves by what was found in
    /// gradients that were made with it.
    ///
    /// ```text
    /// window.add(first.scale(&a)?.backward(…)?.unscale()?)?;
    /// window.add(second.scale(&b)?.backward(…)?.unscale()?)?;
    /// let step = window.finish()?.expect("two").step(&mut optimizer)?;
    /// let [first_outcome, second_outcome] = Scaler::update_each([&mut first, &mut second], step)?;
    /// ```
    ///
    /// * An overflow in one loss's gradients skips the step, and backs off that loss's scale alone: the others count a
    ///   good step. A sum that overflows is everyone's.
    /// * A norm that is not finite though all gradients are is nobody's: unscaled gradients made it, and no scale could
    ///   help: look at the outcomes, since no scale's patience ends it. Of a step on one loss's gradients alone it is that
    ///   loss's, as with one scaler.
    /// * Where a window leaves bad micro-batches out, a loss counts its overflow, and not what became of the window.
    /// * Every outcome has the whole report, with its own loss's scale.
    ///
    /// # Errors
    ///
    /// When the device fails. As [`update`](Self::update), if none of `scalers` has scaled one of the losses, or a scaler's own
    /// were all scaled before its last update; all scales stay as they were.
    pub fn update_each<const N: usize>(
        mut scalers: [&mut Self; N],
        mut step: PendingStep<D>,
    ) -> Result<[StepOutcome<D>; N], D::Error> {
        step.settle();
        let now = scalers.each_ref().map(|scaler| scaler.shared.iterations.now());
        if let (Err(error), Some(scaler)) = (step.check(&now), scalers.first()) {
            return Err(scaler.device().train_error(error.into()));
        }
        for scaler in &mut scalers {
            let (parts, verdicts) = own(&step, scaler.shared.iterations.now().scaler);
            let device = &scaler.shared.device;
            device.update(&mut scaler.scale, &parts, &verdicts, &scaler.rule)?;
            scaler.shared.iterations.advance();
        }
        let step = Arc::new(step);
        Ok(scalers.map(|scaler| scaler.outcome(step.clone())))
    }
}

/// Findings of which each overflow is this scaler's, and those of them that skipped a step.
fn own<D: GradScaler>(step: &PendingStep<D>, scaler: u64) -> (Vec<&D::Found>, Vec<&D::Found>) {
    let alone = |step: &&StepRecord<D>| step.parts.is_empty() && step.of.scaler == scaler;
    let verdicts = step.steps.iter().filter(alone).map(|step| &step.verdict);
    let parts =
        || step.steps.iter().flat_map(|step| &step.parts).filter(|part| is_own(part, scaler));
    let skipping = parts().filter(|part| part.skips).map(|part| &part.found);
    (parts().map(|part| &part.found).collect(), verdicts.chain(skipping).collect())
}

fn is_own<D: GradScaler>(part: &Part<D>, scaler: u64) -> bool {
    part.of.is_none_or(|of| of.scaler == scaler)
}
