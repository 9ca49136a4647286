//! Elementwise sums.

use super::wide::narrowed;
use crate::{Candle, Error};
use binade_autocast::Scope;
use binade_core::Op;
use candle_core::Tensor;

/// Elementwise sum, as of a residual connection: operands whose types differ are cast as the policy says.
///
/// A shape is broadcast to the other as `broadcast_add` does it, and the gradient of what was broadcast is summed in `f32`.
///
/// # Errors
///
/// See the [module](super).
pub fn add(scope: &Scope<'_, Candle>, path: &str, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
    narrowed(scope, Op::ADD, path, [a, b], |[a, b]| a.broadcast_add(&b))
}
