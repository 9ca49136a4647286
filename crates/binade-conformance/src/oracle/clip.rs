//! Clipping of unscaled gradients, each rounding written out.

use super::cast::rounded;
use super::norm::norm;
use crate::Clip;
use binade_core::DType;

/// Unscaled gradients, clipped.
pub fn clip(grads: &[Option<Vec<f64>>], clip: Clip) -> Vec<Option<Vec<f64>>> {
    let each = |f: &dyn Fn(f64) -> f64| {
        let one = |grad: &Option<Vec<f64>>| Some(grad.as_ref()?.iter().map(|x| f(*x)).collect());
        grads.iter().map(one).collect()
    };
    match clip {
        Clip::Norm(which, max) => {
            let factor = factor(norm(which, grads), max);
            each(&|x| by_norm(x, factor))
        }
        Clip::Value(max) => each(&|x| by_value(x, max)),
    }
}

/// What gradients of this norm are multiplied by: "`max / norm`, rounded once to `f32`, where the norm exceeds `max`, and
/// by nothing otherwise".
pub fn factor(norm: f64, max: f32) -> f64 {
    if norm > f64::from(max) { rounded(f64::from(max) / norm, DType::F32) } else { 1.0 }
}

/// An unscaled gradient times the factor.
pub fn by_norm(unscaled: f64, factor: f64) -> f64 {
    rounded(unscaled * factor, DType::F32)
}

/// An unscaled gradient limited to `[-max, max]`: "leaves NaN a NaN".
pub fn by_value(unscaled: f64, max: f32) -> f64 {
    let max = f64::from(max);
    if unscaled > max {
        max
    } else if unscaled < -max {
        -max
    } else {
        unscaled
    }
}
