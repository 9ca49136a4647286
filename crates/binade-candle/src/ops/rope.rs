//! Rotary position embeddings.

use super::wide::narrowed;
use crate::{Candle, Error};
use binade_autocast::Scope;
use binade_core::{Op, OpClass};
use candle_core::Tensor;
use candle_nn::rotary_emb;

/// Rotary position embedding. Binade's list of operations lacks it; policies know it as `rope`.
const ROPE: Op = Op::custom("rope", OpClass::Pointwise);

/// Rotates pairs of `input`, `[N, heads, T, D]`, by angles given as their cosines and sines, `[T or more, D / 2]`.
///
/// Element `i` of the first half of D is paired with element `i` of the second, as in candle's `rope`, which has no backward. Cosines and sines may
/// be of any floating-point type, and are cast to the type of the computation. The policy is asked about `input` alone.
///
/// # Errors
///
/// See the [module](super).
pub fn rope(
    scope: &Scope<'_, Candle>,
    path: &str,
    input: &Tensor,
    [cos, sin]: [&Tensor; 2],
) -> Result<Tensor, Error> {
    narrowed(scope, ROPE, path, [input], |[x]| {
        let [cos, sin] = [cos, sin].map(|table| table.to_dtype(x.dtype()));
        rotary_emb::rope_slow(&x, &cos?, &sin?)
    })
}
