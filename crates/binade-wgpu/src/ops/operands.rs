//! Bindings of operands for shaders.

use crate::{
    Error, Result, Tensor, Wgpu, WgpuError,
    dispatch::{Bound, GROUP, MOST_ELEMENTS, groups, parts},
    limits::ALIGNED,
};
use std::ops::Range;

impl Wgpu {
    /// Binds all of an i64 tensor of indices or labels as words. Also returns the position of the first.
    pub(super) fn whole_words(&self, tensor: &Tensor) -> Result<(Bound, u32)> {
        let (bound, start) = self.whole(tensor)?;
        Ok((bound, 2 * start))
    }

    /// Binds a whole tensor, for shaders that do not read it in memory order. Also returns the position of its first element.
    pub(super) fn whole(&self, tensor: &Tensor) -> Result<(Bound, u32)> {
        let most = self.facts().most_binding_bytes;
        // The first element may lie just before the next place where bindings may begin.
        if tensor.bytes() as u64 + ALIGNED > most || tensor.len() >= MOST_ELEMENTS {
            return Err(Error::Driver(WgpuError::TooLarge {
                bytes: tensor.bytes(),
                most: most - ALIGNED,
            }));
        }
        Ok(Bound::elements(tensor, 0..tensor.len()))
    }

    /// Divides a tensor's elements into parts that a binding holds.
    pub(super) fn parts_of(&self, tensor: &Tensor) -> impl Iterator<Item = Range<usize>> {
        parts(tensor.len(), tensor.dtype().bytes(), self.facts().most_binding_bytes)
    }
}

/// Returns the groups of a grid with one invocation for each [`GROUP`] of this many elements.
pub(super) fn by_group(elements: usize) -> u32 {
    groups(elements.div_ceil(GROUP))
}

/// Binds these elements of `N` operands or fewer. Also returns the number of elements before the first in each binding.
pub(super) fn pieces<const N: usize>(
    operands: &[&Tensor],
    elements: &Range<usize>,
) -> (Vec<Bound>, [u32; N]) {
    let mut starts = [0; N];
    let mut bound = Vec::with_capacity(operands.len() + 4);
    for (operand, start) in operands.iter().zip(&mut starts) {
        let (piece, before) = Bound::elements(operand, elements.clone());
        *start = before;
        bound.push(piece);
    }
    (bound, starts)
}
