//! Layout of a tensor that is a view of a buffer.

use binade_core::DType;
use std::iter;

/// Positions of a view's elements in its buffer. The elements' logical order is always row-major.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Layout {
    /// Elements one after the other, with this many other elements on either side.
    Offset(usize),
    /// Transpose of a row-major tensor: neighbours along the first axis are closest in memory, along the last farthest apart.
    Transposed,
    /// Elements in row-major order, with this many other elements after each.
    Strided(usize),
}

impl Layout {
    /// Returns the number of elements in the buffer before the first of the view.
    pub const fn offset(self) -> usize {
        match self {
            Self::Offset(elements) => elements,
            Self::Transposed | Self::Strided(_) => 0,
        }
    }

    /// Returns the strides of `shape`: for each axis, the distance of neighbours in the buffer, in elements.
    pub fn strides(self, shape: &[usize]) -> Vec<usize> {
        let first = if let Self::Strided(gap) = self { gap + 1 } else { 1 };
        let run = |extents: &mut dyn Iterator<Item = &usize>| -> Vec<usize> {
            let products = extents.scan(first, |stride, extent| {
                let here = *stride;
                *stride *= extent;
                Some(here)
            });
            products.collect()
        };
        if self == Self::Transposed {
            return run(&mut shape.iter());
        }
        let mut strides = run(&mut shape.iter().rev());
        strides.reverse();
        strides
    }

    /// Returns each element's position in the buffer, in row-major order.
    pub(crate) fn places(self, shape: &[usize]) -> impl Iterator<Item = usize> + use<> {
        let (shape, strides) = (shape.to_vec(), self.strides(shape));
        let count = shape.iter().product();
        (0..count).map(move |mut index: usize| {
            let axes = iter::zip(&shape, &strides).rev();
            let apart = axes.map(|(extent, stride)| {
                let at = index % extent;
                index /= extent;
                at * stride
            });
            self.offset() + apart.sum::<usize>()
        })
    }

    /// Returns the buffer of a view of this layout: `bits` at the view's positions, and ones at all others.
    pub fn buffer(self, bits: &[u8], dtype: DType, shape: &[usize]) -> Vec<u8> {
        let each = dtype.bytes();
        if let Self::Offset(offset) = self {
            let around = vec![0xff; offset * each];
            return [&around, bits, &around].concat();
        }
        let last = self.places(shape).max().map_or(self.offset(), |place| place + 1);
        let mut buffer = vec![0xff; (last + self.offset()) * each];
        for (place, element) in self.places(shape).zip(bits.chunks_exact(each)) {
            buffer[place * each..][..each].copy_from_slice(element);
        }
        buffer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_has_its_place() {
        let bits = [1, 2, 3, 4, 5, 6];
        let buffer = |layout: Layout| layout.buffer(&bits, DType::U8, &[2, 3]);
        assert_eq!(buffer(Layout::Offset(2)), [255, 255, 1, 2, 3, 4, 5, 6, 255, 255]);
        assert_eq!(buffer(Layout::Transposed), [1, 4, 2, 5, 3, 6]);
        assert_eq!(buffer(Layout::Strided(1)), [1, 255, 2, 255, 3, 255, 4, 255, 5, 255, 6]);
        assert_eq!(Layout::Transposed.strides(&[2, 3]), [1, 2]);
        assert_eq!(Layout::Strided(1).strides(&[2, 3]), [6, 2]);
        assert_eq!(Layout::Offset(2).strides(&[2, 3]), [3, 1]);
    }

    #[test]
    fn a_shape_without_elements_has_no_places() {
        assert!(Layout::Transposed.buffer(&[], DType::F32, &[0, 3]).is_empty());
        assert_eq!(Layout::Strided(2).places(&[]).collect::<Vec<_>>(), [0]);
    }
}
