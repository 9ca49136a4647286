//! Loss scaling on the CPU: the scale is the host's, unscaling only looks.

mod clip_groups;
mod grad_ops;
mod grad_scaler;
mod save_grads;

use crate::{Tensor, parallel};

/// Replaces each element `x` at index `i` of an `f32` tensor by `f(i, x)`.
fn each(tensor: &mut Tensor, f: impl Fn(usize, f32) -> f32 + Sync) {
    parallel::blocks(tensor.as_mut_slice().unwrap_or_default(), |first, block| {
        block.iter_mut().enumerate().for_each(|(i, x)| *x = f(first + i, *x));
    });
}
