//! The sum of a window's micro-batches: in `f32`, in their order, without those that are not finite.

use super::cast::rounded;
use super::unscale::unscale;
use binade_core::DType;

/// One micro-batch: each parameter's scaled gradient, what it has to be divided by, and whether that has diverged.
#[derive(Clone, Debug)]
pub struct MicroBatch<'a> {
    /// By parameter, in the same order in every micro-batch.
    pub grads: Vec<(&'a str, Option<Vec<f64>>)>,
    /// The scale that they were made with.
    pub scale: f64,
    /// Whether the scale has diverged, so that this one is left out whatever it holds.
    pub halted: bool,
}

/// Each parameter's sum; nothing for one that no good micro-batch had.
pub fn accumulate(window: &[MicroBatch<'_>]) -> Vec<Option<Vec<f64>>> {
    let mut sums: Vec<Option<Vec<f64>>> = vec![];
    for micro in window {
        sums.resize(micro.grads.len(), None);
        let (grads, found) = unscale(&micro.grads, micro.scale);
        if found.first.is_some() || micro.halted {
            continue;
        }
        for (sum, grad) in sums.iter_mut().zip(grads) {
            *sum = match (sum.take(), grad) {
                (Some(sum), Some(grad)) => Some(plus(&sum, &grad)),
                (sum, grad) => sum.or(grad),
            };
        }
    }
    sums
}

fn plus(sum: &[f64], grad: &[f64]) -> Vec<f64> {
    sum.iter().zip(grad).map(|(a, b)| rounded(a + b, DType::F32)).collect()
}
