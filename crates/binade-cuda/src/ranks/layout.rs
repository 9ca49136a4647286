//! Layout of a set of gradients in two vectors: one in their own types, to send, and one in `f32`, for their average.

use crate::{Gradients, Tensor, memory::Buffer};
use binade_core::{DType, Named};
use std::{ops::Range, sync::Arc};

/// Tensors within a vector begin at multiples of this many elements, as allocations do.
pub(crate) const ALIGN: usize = 64;

/// Type and shape of a gradient; `None` where there is none.
pub(crate) type Spec = Option<(DType, Vec<usize>)>;

/// Places of gradients in a vector of their own types, type by type, and in one of `f32` with as many elements.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    specs: Vec<Spec>,
    /// First element of each gradient.
    pub(crate) starts: Vec<usize>,
    /// Number of elements, including padding between gradients.
    pub(crate) len: usize,
    runs: Vec<Run>,
}

/// Elements of one type that lie together.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) dtype: DType,
    pub(crate) elements: Range<usize>,
    /// First byte in the vector of the gradients' own types.
    pub(crate) byte: usize,
}

impl Layout {
    pub(crate) fn of(specs: Vec<Spec>) -> Self {
        let (mut starts, mut len, mut byte) = (vec![0; specs.len()], 0, 0);
        let mut runs = Vec::new();
        for dtype in [DType::F32, DType::BF16, DType::F16] {
            let first = len;
            for (start, spec) in starts.iter_mut().zip(&specs) {
                let Some((_, shape)) = spec.as_ref().filter(|(of, _)| *of == dtype) else {
                    continue;
                };
                *start = len;
                len += shape.iter().product::<usize>().next_multiple_of(ALIGN);
            }
            runs.push(Run { dtype, elements: first..len, byte });
            byte += (len - first) * dtype.bytes();
        }
        Self { specs, starts, len, runs }
    }

    /// Returns the bytes of all gradients in their own types.
    pub(crate) fn bytes(&self) -> usize {
        self.byte_of(self.len)
    }

    /// Returns the byte at which an element of the vector of own types begins.
    pub(crate) fn byte_of(&self, element: usize) -> usize {
        let run = self.runs.iter().rfind(|run| run.elements.start <= element);
        run.map_or(0, |run| run.byte + (element - run.elements.start) * run.dtype.bytes())
    }

    /// Returns true if there are elements between or behind the gradients.
    pub(crate) fn has_gaps(&self) -> bool {
        let shapes = self.specs.iter().flatten();
        shapes.map(|(_, shape)| shape.iter().product::<usize>()).sum::<usize>() < self.len
    }

    /// Returns the number of elements that each device averages, but for the last ones.
    pub(crate) fn each(&self, devices: usize) -> usize {
        self.len.div_ceil(devices).next_multiple_of(ALIGN)
    }

    /// Returns the elements that the device at `place` averages.
    pub(crate) fn slice(&self, place: usize, devices: usize) -> Range<usize> {
        let each = self.each(devices);
        let [start, end] = [place, place + 1].map(|edge| (edge * each).min(self.len));
        start..end
    }

    /// Returns the runs within a slice.
    pub(crate) fn runs(&self, slice: Range<usize>) -> impl Iterator<Item = Run> {
        self.runs.iter().filter_map(move |run| {
            let elements = run.elements.start.max(slice.start)..run.elements.end.min(slice.end);
            let byte = self.byte_of(elements.start);
            (!elements.is_empty()).then_some(Run { dtype: run.dtype, elements, byte })
        })
    }

    /// Returns the gradients of a vector of `f32`.
    pub(crate) fn entries(
        &self,
        like: &Gradients,
        vector: &Arc<Buffer>,
    ) -> Vec<Named<Option<Tensor>>> {
        let places = like.entries.iter().zip(self.specs.iter().zip(&self.starts));
        let entry = |(like, (spec, start)): (&Named<_>, (&Spec, &usize))| {
            let within = |(_, shape): &(DType, Vec<usize>)| {
                Tensor::within(vector.clone(), 4 * start, DType::F32, shape)
            };
            Named { name: like.name.clone(), value: spec.as_ref().map(within) }
        };
        places.map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_f32(shapes: &[Option<&[usize]>]) -> Layout {
        let spec = |shape: &[usize]| (DType::F32, shape.to_vec());
        Layout::of(shapes.iter().map(|shape| shape.map(spec)).collect())
    }

    #[test]
    fn slices_cover_a_vector_once_whatever_the_number_of_devices() {
        let shapes: [Option<&[usize]>; 4] = [Some(&[3]), Some(&[0]), Some(&[5, 40]), Some(&[64])];
        for layout in [all_f32(&shapes), all_f32(&[None]), all_f32(&[])] {
            for devices in 1..9 {
                let slices = (0..devices).map(|place| layout.slice(place, devices));
                let end = slices.fold(0, |end, slice| {
                    assert_eq!(slice.start, end);
                    slice.end
                });
                assert_eq!(end, layout.len);
            }
        }
    }

    #[test]
    fn gradients_begin_where_an_allocation_would() {
        let layout = all_f32(&[Some(&[3]), None, Some(&[65]), Some(&[1])]);
        assert_eq!((layout.starts, layout.len), (vec![0, 0, 64, 192], 256));
    }

    #[test]
    fn gradients_of_one_type_lie_together_and_a_slice_may_be_of_several() {
        let spec = |dtype, len| Some((dtype, vec![len]));
        let layout = Layout::of(vec![
            spec(DType::F16, 100),
            spec(DType::F32, 64),
            spec(DType::F16, 1),
            None,
            spec(DType::BF16, 70),
        ]);
        assert_eq!(layout.starts, [192, 0, 320, 0, 64]);
        assert_eq!((layout.len, layout.bytes()), (384, 4 * 64 + 2 * 320));
        let runs = |slice| {
            let run = |run: Run| (run.dtype, run.elements, run.byte);
            layout.runs(slice).map(run).collect::<Vec<_>>()
        };
        let first = [(DType::F32, 0..64, 0), (DType::BF16, 64..192, 256)];
        assert_eq!(runs(layout.slice(0, 2)), first);
        assert_eq!(runs(layout.slice(1, 2)), [(DType::F16, 192..384, 512)]);
        assert_eq!(runs(layout.slice(2, 4)), [(DType::F16, 256..384, 512 + 2 * 64)]);
        assert_eq!(runs(layout.slice(3, 4)), []);
    }
}
