//! Part of a buffer for a shader: it begins where bindings may begin, with the place of the first element in it.

use crate::{Tensor, limits::ALIGNED, memory::Buffer};
use std::ops::Range;
use wgpu::BufferBinding;

/// Part of a buffer. It keeps the memory alive, and does not keep the pool from reusing it: the next user comes later in the
/// queue.
#[derive(Debug)]
pub(crate) struct Bound {
    memory: wgpu::Buffer,
    offset: u64,
    bytes: u64,
}

impl Bound {
    /// Binds a whole small buffer, such as a state or a finding.
    pub(crate) fn whole(buffer: &Buffer) -> Self {
        let memory = buffer.memory().buffer.clone();
        Self { offset: 0, bytes: (buffer.bytes() as u64).next_multiple_of(4), memory }
    }

    /// Binds these elements. Also returns the number of elements in the binding before the first of them.
    pub(crate) fn elements(tensor: &Tensor, elements: Range<usize>) -> (Self, u32) {
        let memory = tensor.buffer().memory().buffer.clone();
        if elements.is_empty() {
            // Something must be bound, and no binding may begin at the buffer's end: it is the first bytes, which no shader
            // reads.
            return (Self { memory, offset: 0, bytes: ALIGNED }, 0);
        }
        let (begin, each) = (tensor.range().start, tensor.dtype().bytes());
        let [start, end] =
            [elements.start, elements.end].map(|place| (begin + place * each) as u64);
        let offset = start / ALIGNED * ALIGNED;
        let before = (start - offset) / each.max(1) as u64;
        let bytes = (end - offset).next_multiple_of(4);
        (Self { memory, offset, bytes }, u32::try_from(before).unwrap_or(u32::MAX))
    }

    pub(super) fn binding(&self) -> BufferBinding<'_> {
        let size = std::num::NonZeroU64::new(self.bytes);
        BufferBinding { buffer: &self.memory, offset: self.offset, size }
    }
}

/// Greatest number of elements of one binding: shaders count in 32 bits, with room for the step of a grid.
pub(crate) const MOST_ELEMENTS: usize = 1 << 30;

/// Divides `elements` into parts that need no binding above `most_bytes` for elements of `each` bytes, the widest of the
/// operands. All parts but the last end where bindings of any element type may begin.
pub(crate) fn parts(
    elements: usize,
    each: usize,
    most_bytes: u64,
) -> impl Iterator<Item = Range<usize>> {
    let aligned = usize::try_from(ALIGNED).unwrap_or(1);
    let most = usize::try_from(most_bytes).unwrap_or(usize::MAX);
    // The first element may lie just before the next place where bindings may begin.
    let most = most.saturating_sub(aligned) / each.max(1) / aligned * aligned;
    let most = most.clamp(aligned, MOST_ELEMENTS);
    (0..elements.div_ceil(most)).map(move |part| part * most..elements.min((part + 1) * most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_where_bindings_begin_and_leave_nothing_out() {
        let all: Vec<_> = parts(2000, 4, 4096).collect();
        assert_eq!(all, [0..768, 768..1536, 1536..2000]);
        assert_eq!(parts(0, 4, 4096).count(), 0);
        assert_eq!(parts(1536, 4, 4096).last(), Some(768..1536));
        let mut whole = parts(5, 2, u64::MAX);
        assert_eq!((whole.next(), whole.next()), (Some(0..5), None));
    }
}
