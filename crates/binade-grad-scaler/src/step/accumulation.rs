//! A window of micro-batches that ends in one step.

use super::pending::{Part, SUM};
use super::scaled::Shared;
use crate::{GradOps, GradScaler, UnscaledGrads};
use binade_core::{MergeRule, OrderError};
use std::sync::Arc;

/// Effect of an overflow in one micro-batch on the window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum BadMicroBatch {
    /// Leaves it out; the window is skipped only if every micro-batch was bad.
    Drop,
    /// Skips the whole window.
    SkipWindow,
}

impl BadMicroBatch {
    fn join(self) -> MergeRule {
        match self {
            Self::Drop => MergeRule::All,
            Self::SkipWindow => MergeRule::Any,
        }
    }
}

/// Sums unscaled gradients in `f32`.
///
/// # Contract
///
/// * Each micro-batch is unscaled by its own scale before it is added, so that the sum is exact across a change.
/// * A bad micro-batch adds nothing, is named in the report, and backs the scale off once, at the window's end.
/// * A sum that is not finite skips, as an overflow of its own: the report has it as the part `sum`.
/// * A micro-batch that divergence halted halts the window.
/// * The sum is a sum: divide each loss by the number of micro-batches. A dropped one leaves a sum over fewer.
///
/// # Examples
///
/// Each mistake stands beside the right order, as in [`order`](crate::order).
///
/// ## Accumulating before unscaling
///
/// A window adds unscaled gradients, so the scale may change inside it.
///
#[doc = order!(
    "let mut window = scaler.accumulate(BadMicroBatch::Drop);"
    "window.add(scaler.scale(&loss)?.backward(backward)?.unscale()?)?;",
    "compile_fail,E0308":
    "let mut window = scaler.accumulate(BadMicroBatch::Drop);"
    "window.add(scaler.scale(&loss)?.backward(backward)?)?;",
)]
///
/// ## Stepping an open window
///
/// A window steps when it is finished, once.
///
#[doc = order!(
    "let mut window = scaler.accumulate(BadMicroBatch::Drop);"
    "window.add(scaler.scale(&loss)?.backward(backward)?.unscale()?)?;"
    r#"let step = window.finish()?.expect("a micro-batch").step(&mut optimizer)?;"#
    "scaler.update(step)?.ignore();",
    "compile_fail,E0599":
    "let mut window = scaler.accumulate(BadMicroBatch::Drop);"
    "window.add(scaler.scale(&loss)?.backward(backward)?.unscale()?)?;"
    "let step = window.step(&mut optimizer)?;"
    "scaler.update(step)?.ignore();",
)]
///
/// ## Adding to a finished window
///
/// `finish` consumes the window: later gradients would miss the step.
///
#[doc = order!(
    "let mut window = scaler.accumulate(BadMicroBatch::Drop);"
    "window.add(scaler.scale(&loss)?.backward(backward)?.unscale()?)?;"
    r#"let grads = window.finish()?.expect("a micro-batch");"#,
    "compile_fail,E0382":
    "let mut window = scaler.accumulate(BadMicroBatch::Drop);"
    r#"let grads = window.finish()?.expect("a micro-batch");"#
    "window.add(scaler.scale(&loss)?.backward(backward)?.unscale()?)?;",
)]
///
/// ## Clipping an open window
///
/// The norm is that of the sum, which exists once the window is finished.
///
#[doc = order!(
    "let mut window = scaler.accumulate(BadMicroBatch::Drop);"
    "window.add(scaler.scale(&loss)?.backward(backward)?.unscale()?)?;"
    r#"let grads = window.finish()?.expect("a micro-batch").clip_norm(1.0)?;"#,
    "compile_fail,E0599":
    "let mut window = scaler.accumulate(BadMicroBatch::Drop);"
    "window.add(scaler.scale(&loss)?.backward(backward)?.unscale()?)?;"
    r#"let grads = window.clip_norm(1.0)?.finish()?.expect("a micro-batch");"#,
)]
///
/// ## Adding gradients that were stepped with
///
/// A micro-batch goes into a window or into a step, once.
///
#[doc = order!(
    "let mut window = scaler.accumulate(BadMicroBatch::Drop);"
    "let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;"
    "let more = scaler.scale(&loss)?.backward(backward)?.unscale()?;"
    "window.add(grads)?;"
    "let step = more.step(&mut optimizer)?;"
    "scaler.update(step)?.ignore();",
    "compile_fail,E0382":
    "let mut window = scaler.accumulate(BadMicroBatch::Drop);"
    "let grads = scaler.scale(&loss)?.backward(backward)?.unscale()?;"
    "let more = scaler.scale(&loss)?.backward(backward)?.unscale()?;"
    "let step = more.step(&mut optimizer)?;"
    "window.add(more)?;",
)]
#[must_use = "a window that is not finished applies nothing"]
pub struct Accumulation<D: GradScaler> {
    pub(crate) bad: BadMicroBatch,
    pub(crate) sum: Option<UnscaledGrads<D>>,
    pub(crate) parts: Vec<Part<D>>,
    pub(crate) len: usize,
    /// State of the scaler, and place of the micro-batch that failed; `None` while the sum is whole.
    pub(crate) lost: Option<(Arc<Shared<D>>, usize)>,
}

impl<D: GradScaler> Accumulation<D> {
    pub(crate) fn new(bad: BadMicroBatch) -> Self {
        Self { bad, sum: None, parts: Vec::new(), len: 0, lost: None }
    }

    /// Checks that no sum was lost: a device that fails may have changed it.
    pub(crate) fn check_whole(&self) -> Result<(), D::Error> {
        let Some((shared, micro_batch)) = &self.lost else { return Ok(()) };
        let error = OrderError::LostWindow { micro_batch: *micro_batch };
        Err(shared.device.train_error(error.into()))
    }
}

impl<D: GradOps> Accumulation<D> {
    /// Adds one micro-batch, or a finished window. Never waits for the device: a bad one is left out there.
    ///
    /// # Errors
    ///
    /// When the device fails, or the set differs from the earlier ones. The sum so far is lost then: the next `add`, `save` or `finish` is
    /// [`OrderError::LostWindow`], since a step with only the later micro-batches would be smaller.
    pub fn add(&mut self, micro_batch: UnscaledGrads<D>) -> Result<(), D::Error> {
        self.check_whole()?;
        let UnscaledGrads { grads, verdict: found, parts, name, shared, of, .. } = micro_batch;
        let (so_far, verdict) = match self.sum.take() {
            None => (None, found.clone()),
            Some(mut sum) => {
                self.lost = Some((shared.clone(), self.len));
                shared.device.merge(&mut sum.verdict, &found, self.bad.join())?;
                (Some(sum.grads), sum.verdict)
            }
        };
        let sum = shared.device.accumulate(so_far, grads, &found)?;
        self.lost = None;
        self.note(&name, Part { name: String::new(), found, of: Some(of), skips: true }, parts);
        self.sum = Some(UnscaledGrads::new(sum, verdict, shared, of));
        Ok(())
    }

    /// Stores the next micro-batch's found-inf result, or those of a window's parts.
    fn note(&mut self, name: &str, whole: Part<D>, parts: Vec<Part<D>>) {
        let named = if name.is_empty() { String::new() } else { format!(" ({name})") };
        let place = format!("micro-batch {}{named}", self.len);
        self.len += 1;
        let skips = self.bad == BadMicroBatch::SkipWindow;
        if parts.is_empty() {
            self.parts.push(Part { name: place, skips, ..whole });
            return;
        }
        let within = |part: Part<D>| Part {
            name: format!("{place}, {}", part.name),
            skips: skips && part.skips,
            ..part
        };
        self.parts.extend(parts.into_iter().map(within));
    }

    /// Closes the window and looks at the sum, since finite parts may add up to infinity; `None` if nothing was added.
    ///
    /// # Errors
    ///
    /// When the device fails, or the sum was lost by an error of [`add`](Self::add).
    pub fn finish(mut self) -> Result<Option<UnscaledGrads<D>>, D::Error> {
        self.check_whole()?;
        let Some(mut sum) = self.sum else { return Ok(None) };
        let found = sum.shared.device.unscale(&mut sum.grads, &sum.shared.one)?;
        sum.shared.device.merge(&mut sum.verdict, &found, MergeRule::Any)?;
        self.parts.push(Part { name: SUM.into(), found, of: None, skips: true });
        sum.parts = self.parts;
        Ok(Some(sum))
    }
}
