//! Helpers of faults for sets of gradients: norms, changes of each element, and stochastic rounding.

use super::toy::{Elements, Grads, Plain};
use binade_core::cast::OnOverflow::NonFinite;
use binade_core::stochastic::{self, Key};
use binade_core::{DType, Named};
use binade_grad_scaler::Norm;

/// Returns the norm of gradients in f32, computed in f64.
pub(super) fn norm(grads: &Grads, which: Norm) -> f64 {
    let values = grads.iter().filter_map(|grad| grad.value.as_ref()).flat_map(Plain::read);
    let values = values.map(f64::from);
    match which {
        Norm::L2 => values.map(|x| x * x).sum::<f64>().sqrt(),
        Norm::Infinity => {
            values.map(f64::abs).fold(0.0, |a, b| if a >= b { a } else { b + 0.0 * a })
        }
    }
}

/// Replaces every element of gradients in f32.
pub(super) fn each(grads: &mut [Named<Option<Plain>>], f: impl Fn(f32) -> f32) {
    for grad in grads.iter_mut().filter_map(|grad| grad.value.as_mut()) {
        let values: Vec<f32> = grad.read().into_iter().map(&f).collect();
        *grad = Plain::write(&values, DType::F32, grad.shape());
    }
}

/// Rounds each element by the word that `bits` gives for its index.
pub(super) fn cast_stochastic(tensor: &Plain, to: DType, bits: impl Fn(u64) -> u32) -> Plain {
    let rounded = |(x, index)| stochastic::round(x, to, bits(index), NonFinite).unwrap_or(x);
    let values: Vec<f32> = tensor.read().into_iter().zip(0..).map(rounded).collect();
    Plain::write(&values, to, tensor.shape())
}

/// Returns the random words of a key, by index.
pub(super) fn word(key: Key) -> impl Fn(u64) -> u32 {
    move |index| stochastic::bits(key, index)
}
