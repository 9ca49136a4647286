//! Convolution as a request to cuDNN: exactly the parameters that its plan depends on.

use crate::{F32Products, Tensor, library::Pass, probe::Capability};
use binade_core::DType;
use binade_core::ops::{Conv2dConfig, ImageLayout};

/// Alignment of addresses in bytes. No call tells the library of any, and its Tensor Core kernels read 16 bytes at a time.
const ALIGNED: u64 = 16;

/// Greatest number of elements of a tensor: `cudnnSetTensor4dDescriptor` refuses more.
const MOST: usize = i32::MAX as usize;

/// One convolution by shape, type and pass, in the library's integers.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(in crate::library) struct Problem {
    pub(super) pass: Pass,
    pub(super) dtype: DType,
    /// Order of the axes of all three in memory.
    pub(super) layout: ImageLayout,
    /// Extents of images or their gradients: `[N, C, H, W]`.
    pub(super) input: [i32; 4],
    /// Extents of kernels or their gradients: `[O, C / groups, KH, KW]`.
    pub(super) weight: [i32; 4],
    /// Extents of results or their gradients: `[N, O, H', W']`.
    pub(super) output: [i32; 4],
    pub(super) stride: [i32; 2],
    pub(super) padding: [i32; 2],
    pub(super) dilation: [i32; 2],
    pub(super) groups: i32,
    /// Precision of `f32` products; always full for sixteen bits, which have no more bits to drop.
    pub(super) f32: F32Products,
}

impl Problem {
    /// Returns the problem of a convolution. Returns `None` if the library cannot be used: for no elements, for sizes beyond its integers, for
    /// misaligned addresses, and for bf16 on a GPU whose Tensor Cores do not multiply it, which a later check refuses by name.
    pub(super) fn of(
        pass: Pass,
        operands: [&Tensor; 3],
        config: Conv2dConfig,
        (capability, f32): (Capability, F32Products),
    ) -> Option<Self> {
        let [input, weight, output] = operands;
        let (dtype, layout) = (input.dtype(), config.layout);
        let extents = |of: &Tensor| small(&layout.extents(of.shape())?);
        if dtype == DType::BF16 && capability < (8, 0) || !operands.into_iter().all(is_takeable) {
            return None;
        }
        Some(Self {
            pass,
            dtype,
            layout,
            input: extents(input)?,
            weight: extents(weight)?,
            output: extents(output)?,
            stride: small(&config.stride)?,
            padding: small(&config.padding)?,
            dilation: small(&config.dilation)?,
            groups: i32::try_from(config.groups).ok()?,
            f32: if dtype == DType::F32 { f32 } else { F32Products::Full },
        })
    }

    /// Returns all parameters as words, to compare one run of a step with another.
    pub(super) fn words(&self) -> Vec<u64> {
        let sizes = [&self.input[..], &self.weight, &self.output];
        let config = [&self.stride[..], &self.padding, &self.dilation, &[self.groups]];
        let sizes = [sizes.concat(), config.concat()]
            .concat()
            .into_iter()
            .map(|size| u64::from(size.unsigned_abs()));
        let kinds = [self.pass as u64, self.dtype as u64, self.layout as u64, self.f32 as u64];
        kinds.into_iter().chain(sizes).collect()
    }
}

fn is_takeable(tensor: &Tensor) -> bool {
    (1..=MOST).contains(&tensor.len()) && tensor.address().is_multiple_of(ALIGNED)
}

/// Returns the sizes as the library's integers, if all of them fit.
fn small<const N: usize>(sizes: &[usize]) -> Option<[i32; N]> {
    let sizes: Option<Vec<i32>> = sizes.iter().map(|size| i32::try_from(*size).ok()).collect();
    sizes?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_beyond_32_bits_and_of_other_counts_are_none_of_the_librarys() {
        assert_eq!(small([1, 2, 3, MOST].as_slice()), Some([1, 2, 3, i32::MAX]));
        assert_eq!(small::<4>(&[1, 2, 3, MOST + 1]), None);
        assert_eq!(small::<4>(&[1, 2, 3]), None);
    }
}
