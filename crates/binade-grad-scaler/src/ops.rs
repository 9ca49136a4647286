//! What a device must be able to do with whole sets of unscaled gradients: clip and add.

use crate::GradScaler;
use binade_core::{Finding, Overflow};

/// Which norm of all gradients together to clip by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Norm {
    /// The root of the sum of squares.
    L2,
    /// The largest absolute value.
    Infinity,
}

impl Norm {
    /// What a norm that is not finite goes by in a report, where a parameter's name would be.
    pub const NAME: &str = "norm of all gradients";
}

/// Arithmetic on whole sets of unscaled gradients.
///
/// # For implementers
///
/// * Norms are accumulated so that 64 M elements keep full `f32` accuracy and elements of 1e25 do not overflow.
/// * `clip_norm` multiplies by `max / norm`, rounded once to `f32`, where the norm exceeds `max`, and by nothing
///   otherwise: never by more than one. It records the norm in `verdict`, and raises it, as [`Norm::NAME`] and without
///   counting an element, if the norm as `f32` is not finite.
/// * `clip_value` limits each element to `[-max, max]` and leaves NaN a NaN.
/// * A `max` that is negative, zero or NaN is `InvalidArgument`.
/// * `accumulate` sums in `f32`, and adds nothing where `found` is raised: an infinity never enters a sum. A parameter that
///   has a gradient in one set only keeps that one; one that has it in bad sets only has none, and a step leaves it alone.
pub trait GradOps: GradScaler {
    /// Shrinks `grads` so that the norm over all of them is at most `max`.
    ///
    /// # Errors
    ///
    /// When the device fails, or `max` is not a positive number.
    fn clip_norm(
        &self,
        grads: &mut Self::Grads,
        norm: Norm,
        max: f32,
        verdict: &mut Self::Found,
    ) -> Result<(), Self::Error>;

    /// Limits every element to `[-max, max]`.
    ///
    /// # Errors
    ///
    /// When the device fails, or `max` is not a positive number.
    fn clip_value(&self, grads: &mut Self::Grads, max: f32) -> Result<(), Self::Error>;

    /// `sum + grads`, or `sum` where `found` is raised. Without a `sum` yet, `grads` in `f32`; where `found` is raised,
    /// the same parameters without any gradient, so that the order of good and bad sets does not matter.
    ///
    /// # Errors
    ///
    /// When the device fails, or the two sets differ in names or lengths.
    fn accumulate(
        &self,
        sum: Option<Self::Grads>,
        grads: Self::Grads,
        found: &Self::Found,
    ) -> Result<Self::Grads, Self::Error>;
}

/// Records the norm that clipping measured; one that is not finite as `f32` raises the verdict.
///
/// The oracle of what a device's clipping kernel writes.
pub fn record_norm(verdict: &mut Finding, norm: f64) {
    let norm = narrow(norm);
    verdict.norm = Some(norm);
    if !norm.is_finite() {
        verdict.overflow.get_or_insert_with(|| Overflow {
            parameter: Norm::NAME.into(),
            index: 0,
            scaled: norm,
            unscaled: norm,
        });
    }
}

/// What gradients of this norm are multiplied by to have a norm of at most `max`: `max / norm`, or 1.
///
/// torch divides by `norm + 1e-6`, and so shrinks gradients that are within the limit; this does not.
pub fn clip_factor(norm: f64, max: f32) -> f32 {
    if norm > f64::from(max) { narrow(f64::from(max) / norm) } else { 1.0 }
}

#[expect(clippy::cast_possible_truncation, reason = "rounds to f32 on purpose")]
fn narrow(x: f64) -> f32 {
    x as f32
}

// Holds the traits to being object safe.
#[rustfmt::skip]
const _: Option<&dyn GradOps<Error = std::convert::Infallible, Scale = (), Found = (), Tensor = (), Params = (), Grads = ()>> = None;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_infinite_norm_within_an_infinite_limit_leaves_gradients_alone() {
        assert_eq!(clip_factor(f64::INFINITY, f32::INFINITY), 1.0);
        assert_eq!([clip_factor(2.0, 2.0), clip_factor(4.0, 2.0)], [1.0, 0.5]);
    }
}
