//! Loss scaling on the CPU: the scale is the host's, and unscaling only reads.

mod clip_groups;
mod grad_ops;
mod grad_scaler;

use crate::{Tensor, parallel};

/// Replaces each element `x` of an `f32` tensor by `f(x)`.
fn each(tensor: &mut Tensor, f: impl Fn(f32) -> f32 + Sync) {
    parallel::blocks(tensor.as_mut_slice().unwrap_or_default(), |_, block| {
        for x in block {
            *x = f(*x);
        }
    });
}
