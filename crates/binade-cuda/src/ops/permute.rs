//! Reordering of axes.

use crate::{
    Cuda, CudaError, Error, Result, Tensor,
    kernels::THREADS,
    launch::{
        Arg, Grid, args,
        structs::{DivisorBits, PermutationBits},
    },
};
use binade_core::ops::shape::{MOST_AXES, Permutation};
use binade_gpu::PermuteKernels;

/// Bytes of the largest access.
pub(super) const WIDE: usize = 16;

/// Returns the number of units of a launch over `tensor`, which is below 2^31 so that kernels divide in 32 bits.
pub(super) fn units_of(tensor: &Tensor, units: usize) -> Result<u32> {
    i32::try_from(units).map(i32::cast_unsigned).map_err(|_| {
        let sizes = tensor.shape().to_vec();
        Error::Driver(CudaError::TooLarge { what: "a tensor to index in 32 bits", sizes })
    })
}

impl PermuteKernels for Cuda {
    fn launch_permute(&self, input: &Tensor, axes: &Permutation, result: &Tensor) -> Result {
        let bytes = input.dtype().bytes();
        let (axes, bytes) = match wide(axes, bytes, [input.address(), result.address()]) {
            Some(axes) => (axes, WIDE),
            None => (axes.clone(), bytes),
        };
        let units: usize = axes.extents.iter().product();
        let count = units_of(input, units)?;
        let bits = bits(&axes);
        let args = args![input, result, Arg::Bytes(bytemuck::bytes_of(&bits)), count, bytes];
        self.launch("permute", Grid::of(units.div_ceil(THREADS as usize)), &args)
    }
}

/// Returns the axes in units of [`WIDE`] bytes if the last axis stays the last, and all lines begin at multiples of them.
fn wide(axes: &Permutation, bytes: usize, addresses: [u64; 2]) -> Option<Permutation> {
    let count = WIDE / bytes;
    let Permutation { mut extents, mut strides } = axes.clone();
    let last = strides.pop().filter(|stride| *stride == 1)?;
    let whole = |of: &usize| of.is_multiple_of(count);
    let fits = extents.last().is_some_and(whole) && strides.iter().all(whole);
    if !fits || addresses.iter().any(|at| !at.is_multiple_of(WIDE as u64)) {
        return None;
    }
    extents.last_mut().into_iter().for_each(|extent| *extent /= count);
    for stride in &mut strides {
        *stride /= count;
    }
    strides.push(last);
    Some(Permutation { extents, strides })
}

/// Returns the axes as the kernel reads them, outer ones of extent 1 where there are fewer.
fn bits(Permutation { extents, strides }: &Permutation) -> PermutationBits {
    let before = MOST_AXES - extents.len();
    let mut bits = PermutationBits { strides: [0; MOST_AXES], by: [DivisorBits::of(1); MOST_AXES] };
    for (at, (extent, stride)) in extents.iter().zip(strides).enumerate() {
        // The launch has fewer than 2^31 units, and so has each axis.
        bits.by[before + at] = DivisorBits::of(u32::try_from(*extent).unwrap_or(u32::MAX));
        bits.strides[before + at] = *stride as u64;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_begin_at_multiples_of_16_bytes_are_moved_whole() {
        let of = |shape: &[usize], axes: &[usize], bytes, address| {
            wide(&Permutation::new(shape, axes), bytes, [address, 32]).map(|axes| axes.extents)
        };
        assert_eq!(of(&[2, 9, 4, 64], &[0, 2, 1, 3], 2, 16), Some(vec![2, 4, 9, 8]));
        assert_eq!(of(&[2, 9, 4, 64], &[0, 2, 1, 3], 4, 16), Some(vec![2, 4, 9, 16]));
        assert_eq!(of(&[2, 9, 4, 64], &[0, 2, 1, 3], 2, 8), None);
        assert_eq!(of(&[2, 9, 4, 60], &[0, 2, 1, 3], 2, 16), None);
        assert_eq!(of(&[64, 32], &[1, 0], 2, 16), None);
    }
}
