//! Part of a tensor along one axis.

use super::permute::{WIDE, units_of};
use crate::{
    Cuda, Result, Tensor,
    kernels::THREADS,
    launch::{
        Arg, Grid, args,
        structs::{DivisorBits, LinesBits},
    },
};
use binade_core::ops::shape::Part;
use binade_gpu::NarrowKernels;

impl NarrowKernels for Cuda {
    fn launch_narrow(&self, whole: &Tensor, part: &Part, result: &Tensor) -> Result {
        let whole = (whole, [part.first, part.stride]);
        copy_lines(self, [whole, (result, [0, part.len])], [part.lines, part.len])
    }

    fn launch_narrow_backward(&self, piece: &Tensor, part: &Part, whole: &Tensor) -> Result {
        let whole = (whole, [part.first, part.stride]);
        copy_lines(self, [(piece, [0, part.len]), whole], [part.lines, part.len])
    }
}

/// Tensor, and the place of its first line and elements from one to the next.
type Lines<'t> = (&'t Tensor, [usize; 2]);

/// Copies lines of `len` elements from one tensor to another, in units of [`WIDE`] bytes where all of them begin at multiples of it.
fn copy_lines(
    cuda: &Cuda,
    [(from, from_lines), (to, to_lines)]: [Lines<'_>; 2],
    [lines, len]: [usize; 2],
) -> Result {
    let bytes = from.dtype().bytes();
    let elements = WIDE / bytes;
    let places = [from_lines, to_lines].concat();
    let is_wide = places.iter().chain([&len]).all(|place| place.is_multiple_of(elements))
        && [from, to].iter().all(|it| it.address().is_multiple_of(WIDE as u64));
    let (each, bytes) = if is_wide { (elements, WIDE) } else { (1, bytes) };
    let [from_first, from_stride, to_first, to_stride] =
        [from_lines[0], from_lines[1], to_lines[0], to_lines[1]].map(|it| (it / each) as u64);
    let units = lines * len / each;
    let count = units_of(from, units)?;
    // The launch has fewer than 2^31 units, and so has a line.
    let by_len = DivisorBits::of(u32::try_from(len / each).unwrap_or(u32::MAX));
    let bits = LinesBits { from_first, from_stride, to_first, to_stride, by_len, pad: 0 };
    let args = args![from, to, Arg::Bytes(bytemuck::bytes_of(&bits)), count, bytes];
    cuda.launch("narrow", Grid::of(units.div_ceil(THREADS as usize)), &args)
}
