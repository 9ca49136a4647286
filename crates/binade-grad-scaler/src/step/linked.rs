//! Steps that share their fate.

use super::pending::Part;
use crate::{GradScaler, PendingStep, UnscaledGrads};
use binade_core::{MergeRule, Optimizer};

/// Gradients whose verdict has been joined with others': nothing but the step is left to do.
///
/// They can no longer be clipped, since a norm that is not finite would skip only one of them.
///
/// # Examples
///
/// Each mistake stands beside the right order, as in [`order`](crate::order).
///
/// ## Clipping one of several that skip together
///
/// A norm that is not finite would skip only one: clip first.
///
#[doc = order!(
    "let first = scaler.scale(&loss)?.backward(backward)?.unscale()?.clip_norm(1.0)?;"
    "let second = scaler.scale(&loss)?.backward(backward)?.unscale()?;"
    "let [first, second] = UnscaledGrads::skip_together([first, second])?;"
    "let step = first.step(&mut optimizer)?.and(second.step(&mut optimizer)?);"
    "scaler.update(step)?.ignore();",
    "compile_fail,E0599":
    "let first = scaler.scale(&loss)?.backward(backward)?.unscale()?;"
    "let second = scaler.scale(&loss)?.backward(backward)?.unscale()?;"
    "let [first, second] = UnscaledGrads::skip_together([first, second])?;"
    "let step = first.clip_norm(1.0)?.step(&mut optimizer)?.and(second.step(&mut optimizer)?);"
    "scaler.update(step)?.ignore();",
)]
///
/// ## Sharing a fate after stepping
///
/// A step's verdict is settled before the step is taken.
///
#[doc = order!(
    "let first = scaler.scale(&loss)?.backward(backward)?.unscale()?;"
    "let second = scaler.scale(&loss)?.backward(backward)?.unscale()?;"
    "let [first, second] = UnscaledGrads::skip_together([first, second])?;"
    "let step = first.step(&mut optimizer)?.and(second.step(&mut optimizer)?);"
    "scaler.update(step)?.ignore();",
    "compile_fail,E0308":
    "let first = scaler.scale(&loss)?.backward(backward)?.unscale()?;"
    "let second = scaler.scale(&loss)?.backward(backward)?.unscale()?;"
    "let (first, second) = (first.step(&mut optimizer)?, second.step(&mut optimizer)?);"
    "let [first, second] = UnscaledGrads::skip_together([first, second])?;",
)]
#[must_use = "unscaled gradients are for an optimizer"]
pub struct LinkedGrads<D: GradScaler>(UnscaledGrads<D>);

impl<D: GradScaler> UnscaledGrads<D> {
    /// Makes steps share their fate: an overflow in any skips all. Without it each step is skipped separately.
    ///
    /// `let [d, g] = UnscaledGrads::skip_together([d.clip_norm(1.0)?, g])?;`
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn skip_together<const N: usize>(
        mut all: [Self; N],
    ) -> Result<[LinkedGrads<D>; N], D::Error> {
        let found: Vec<_> = all.iter().map(|grads| grads.verdict.clone()).collect();
        for (own, grads) in all.iter_mut().enumerate() {
            grads.keep_part();
            for (_, other) in found.iter().enumerate().filter(|(other, _)| *other != own) {
                grads.shared.device.merge(&mut grads.verdict, other, MergeRule::Any)?;
            }
        }
        Ok(all.map(LinkedGrads))
    }

    /// Keeps the pass's found-inf result before others join the verdict.
    fn keep_part(&mut self) {
        if self.parts.is_empty() {
            let (found, of) = (self.verdict.clone(), Some(self.of));
            self.parts.push(Part { name: String::new(), found, of, skips: true });
        }
    }
}

impl<D: GradScaler> LinkedGrads<D> {
    /// Applies the gradients, or changes nothing if any of the linked gradients overflowed.
    ///
    /// # Errors
    ///
    /// The errors of the optimizer, as errors of the device.
    pub fn step<O>(self, optimizer: &mut O) -> Result<PendingStep<D>, D::Error>
    where
        O: Optimizer<D::Grads, D::Found> + ?Sized,
        D::Error: From<O::Error>,
    {
        self.0.step(optimizer)
    }
}
