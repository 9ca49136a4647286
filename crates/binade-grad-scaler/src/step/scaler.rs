//! The value a training loop holds.

use super::scaled::Shared;
use crate::{
    Accumulation, BadMicroBatch, GradScaler, Loss, LossScale, PendingStep, ScaleState, ScaledGrads,
    ScaledLoss, StepOutcome, UnscaledGrads,
};
use std::sync::Arc;

/// Scales losses and updates the scale: one scaler for all losses and optimizers of a run.
///
/// # Contract
///
/// * Gradients are unscaled by the scale their loss was scaled with, whatever happened to the scaler since.
/// * `scale`, `unscale`, clipping, `step` and `update` never wait for the device; `state` and
///   [`StepOutcome::resolve`] do, once each.
/// * Several losses and optimizers share one update: each step skips alone unless
///   [`skip_together`](UnscaledGrads::skip_together), and one overflow anywhere backs the shared scale off once. Losses
///   of different sizes may have a scaler each: see [`update_each`](Self::update_each).
///
/// Orders that do not compile are listed in [`order`](crate::order), each beside the right one.
///
/// # Examples
///
/// ```
#[doc = include_str!("../order_prelude.md")]
/// let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?.clip_norm(1.0)?;
/// let step = grads.step(&mut optimizer)?;
/// let report = scaler.update(step)?.resolve()?.unless_diverged().expect("no divergence");
/// assert_eq!((report.scale.factor(), report.scale.good_steps), (65536.0, 1));
/// # Ok::<(), HostDeviceError<Infallible>>(())
/// ```
pub struct Scaler<D: GradScaler> {
    pub(crate) shared: Arc<Shared<D>>,
    pub(crate) scale: D::Scale,
    pub(crate) rule: LossScale,
    notice: Option<Notice>,
}

/// Gives the notice that reports end with, if there is one.
type Notice = Arc<dyn Fn() -> Option<&'static str> + Send + Sync>;

impl<D: GradScaler> Scaler<D> {
    /// Creates a scaler on `device` that starts and moves by `rule`.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn new(device: D, rule: LossScale) -> Result<Self, D::Error> {
        let scale = device.upload_state(rule.start())?;
        let one = device.upload_state(ScaleState::from_exponent(0))?;
        Ok(Self { shared: Arc::new(Shared::new(device, one)), scale, rule, notice: None })
    }

    /// Appends the text that `notice` returns at the update to the report of each step. Use it for conditions outside the scaler, such as an autocast
    /// region that casts nothing.
    #[must_use]
    pub fn with_notice(
        self,
        notice: impl Fn() -> Option<&'static str> + Send + Sync + 'static,
    ) -> Self {
        Self { notice: Some(Arc::new(notice)), ..self }
    }

    /// Multiplies a loss by the scale, in `f32`.
    ///
    /// # Errors
    ///
    /// When the device fails. [`OrderError::NeverUpdated`](binade_core::OrderError::NeverUpdated) once, if a step was dropped before it reached
    /// [`update`](Self::update), as one is whose loop returned early between the two.
    pub fn scale<L: Loss<D>>(&self, loss: &L) -> Result<ScaledLoss<D, L>, L::Error> {
        self.shared.check_dropped()?;
        let scaled = loss.scaled(&self.shared.device, &self.scale)?;
        Ok(ScaledLoss::new(scaled, self.scale.clone(), self.shared.clone()))
    }

    /// Gradients of a loss that was not scaled: they are checked, and divided by nothing.
    ///
    /// Use it in loops without loss scaling, for the checks, the clipping and the report. Divergence does not halt these, since it comes with a
    /// scale; a loss scaled under [`LossScale::none`] is halted.
    ///
    /// # Errors
    ///
    /// As [`scale`](Self::scale).
    pub fn check_unscaled(&self, grads: D::Grads) -> Result<UnscaledGrads<D>, D::Error> {
        self.shared.check_dropped()?;
        let (one, of) = (self.shared.one.clone(), self.shared.iterations.now());
        ScaledGrads::new(grads, one, self.shared.clone(), of).unscale()
    }

    /// Opens an accumulation window; only its end can step. The scale may move inside it, by the update of another loss.
    ///
    /// At least its last micro-batch is scaled after the last such update; where the two end together, their steps are joined
    /// by [`PendingStep::and`].
    pub fn accumulate(&self, bad: BadMicroBatch) -> Accumulation<D> {
        Accumulation::new(bad)
    }

    /// Ends an iteration: updates the scale by the found-inf results of its steps.
    ///
    /// An iteration lies between two updates: at least one of the step's losses must have been scaled in the current one. A window's micro-batches
    /// may be of several, the last of them of this one.
    ///
    /// # Errors
    ///
    /// When the device fails. [`OrderError::OtherScaler`](binade_core::OrderError::OtherScaler) if another scaler has scaled one of the step's losses, and
    /// [`OrderError::SecondUpdate`](binade_core::OrderError::SecondUpdate) if all were scaled before the last update; the scale stays as it was.
    pub fn update(&mut self, mut step: PendingStep<D>) -> Result<StepOutcome<D>, D::Error> {
        step.settle();
        let checked = step.check(&[self.shared.iterations.now()]);
        checked.map_err(|error| self.device().train_error(error.into()))?;
        self.shared.device.update(&mut self.scale, &step.parts(), &step.verdicts(), &self.rule)?;
        self.shared.iterations.advance();
        Ok(self.outcome(Arc::new(step)))
    }

    /// Returns the outcome of a step, with the current scale.
    pub(crate) fn outcome(&self, step: Arc<PendingStep<D>>) -> StepOutcome<D> {
        let notice = self.notice.as_ref().and_then(|notice| notice());
        StepOutcome::new(step, self.scale.clone(), self.shared.clone(), notice)
    }

    /// Returns the scale and its counters, for a log or a checkpoint. Waits for the device.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn state(&self) -> Result<ScaleState, D::Error> {
        Ok(self.shared.device.read(&[], &self.scale)?.1)
    }

    /// Replaces the scale and its counters: a checkpoint, a rule that [`LossScale`] cannot express, or a fresh start
    /// after divergence.
    ///
    /// A scale outside the rule's limits is used unchanged, and is brought within them at the first change. A step that was dropped before its update
    /// is forgotten.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn set_state(&mut self, state: ScaleState) -> Result<(), D::Error> {
        self.scale = self.shared.device.upload_state(state)?;
        self.shared.iterations.take_dropped();
        Ok(())
    }

    /// Returns the rule that updates the scale.
    pub fn rule(&self) -> &LossScale {
        &self.rule
    }

    /// Returns the device that the scale lives on.
    pub fn device(&self) -> &D {
        &self.shared.device
    }

    /// Returns the number of unfinished values of this scaler: scaled losses, gradients, pending steps, outcomes that were neither resolved nor
    /// ignored, and open windows that are not empty. Between steps it is 0.
    pub fn in_flight(&self) -> usize {
        let others = |count: usize| count.saturating_sub(1);
        others(Arc::strong_count(&self.shared)) + others(Arc::strong_count(&self.shared.iterations))
    }
}
