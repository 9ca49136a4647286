//! Gradients of any type as f32, a piece at a time, without a copy of the whole.

use crate::{Stored, Tensor};
use binade_core::{DType, Element};
use half::{bf16, f16};
use std::ops::Range;

/// Number of elements widened at once: few enough to stay in the cache until they are used.
const CHUNK: usize = 1024;

/// Calls `look(first, elements)` for consecutive elements of `range`, `first` being the index of the first of them.
///
/// All pieces but the last are a multiple of eight.
pub(crate) fn widened(tensor: &Tensor, range: Range<usize>, look: impl FnMut(usize, &[f32])) {
    match tensor.dtype() {
        DType::BF16 => chunks::<bf16>(tensor, range, look),
        DType::F16 => chunks::<f16>(tensor, range, look),
        _ => chunks::<f32>(tensor, range, look),
    }
}

/// Widens in chunks. f32 is copied like the rest: measured, it costs nothing, and the compiler makes one loop of each `look`.
fn chunks<E: Element + Stored>(
    tensor: &Tensor,
    range: Range<usize>,
    mut look: impl FnMut(usize, &[f32]),
) {
    let mut first = range.start;
    let elements = tensor.as_slice::<E>().and_then(|all| all.get(range)).unwrap_or_default();
    let mut wide = [0.0; CHUNK];
    for chunk in elements.chunks(CHUNK) {
        let wide = &mut wide[..chunk.len()];
        E::widen(chunk, wide);
        look(first, wide);
        first += chunk.len();
    }
}
