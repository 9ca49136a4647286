//! Elementwise sums.

use super::wide::narrowed;
use crate::{Candle, Error};
use binade_autocast::Scope;
use binade_core::Op;
use candle_core::Tensor;

/// Returns the elementwise sum, such as that of a residual connection. The policy casts operands whose types differ.
///
/// One shape is broadcast to the other as by `broadcast_add`, and the gradient of a broadcast operand is summed in `f32`.
///
/// # Errors
///
/// See the [module](super).
pub fn add(scope: &Scope<'_, Candle>, path: &str, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
    narrowed(scope, Op::ADD, path, [a, b], |[a, b]| a.broadcast_add(&b))
}
