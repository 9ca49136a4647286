//! One value in the place of masked elements.

use super::operands::{by_group, pieces};
use crate::{
    Result, Tensor, Wgpu,
    dispatch::{
        Bound,
        structs::{self, code, count},
    },
};
use binade_gpu::MaskedFillKernels;

impl MaskedFillKernels for Wgpu {
    fn launch_masked_fill(
        &self,
        input: &Tensor,
        mask: &Tensor,
        value: f32,
        result: &Tensor,
    ) -> Result {
        for part in self.parts_of(result) {
            let (mut bound, [start]) = pieces(&[input], &part);
            let (of_mask, mask_start) = self.whole(mask)?;
            bound.extend([of_mask, Bound::elements(result, part.clone()).0]);
            let params = structs::MaskedFill {
                len: count(part.len()),
                dtype: code("masked_fill", result.dtype())?,
                start,
                first: count(part.start),
                mask_dtype: code("masked_fill", mask.dtype())?,
                mask_start,
                mask_len: count(mask.len()),
                value: value.to_bits(),
            };
            self.dispatch("masked_fill", &params, bound, by_group(part.len()))?;
        }
        Ok(())
    }
}
