//! Reordering of axes.

use super::operands::by_group;
use crate::{
    Result, Tensor, Wgpu,
    dispatch::{
        Bound,
        structs::{self, code, count},
    },
};
use binade_core::ops::shape::{MOST_AXES, Permutation};
use binade_gpu::PermuteKernels;

impl PermuteKernels for Wgpu {
    fn launch_permute(&self, input: &Tensor, axes: &Permutation, result: &Tensor) -> Result {
        let (mut extents, mut strides) = ([1; MOST_AXES], [0; MOST_AXES]);
        let before = MOST_AXES - axes.extents.len();
        for (at, (extent, stride)) in axes.extents.iter().zip(&axes.strides).enumerate() {
            (extents[before + at], strides[before + at]) = (count(*extent), count(*stride));
        }
        for part in self.parts_of(result) {
            let ((from, start), (output, _)) =
                (self.whole(input)?, Bound::elements(result, part.clone()));
            let params = structs::Permute {
                len: count(part.len()),
                dtype: code("permute", result.dtype())?,
                start,
                first: count(part.start),
                extents,
                strides,
            };
            self.dispatch("permute", &params, vec![from, output], by_group(part.len()))?;
        }
        Ok(())
    }
}
