//! Replacement of masked elements by one value.

use super::permute::units_of;
use crate::{
    Cuda, Result, Tensor,
    launch::{Arg, Grid, args, code, structs::DivisorBits},
};
use binade_gpu::MaskedFillKernels;

impl MaskedFillKernels for Cuda {
    fn launch_masked_fill(
        &self,
        input: &Tensor,
        mask: &Tensor,
        value: f32,
        result: &Tensor,
    ) -> Result {
        let [dtype, mask_dtype] = [code("fill", input.dtype())?, code("fill", mask.dtype())?];
        units_of(input, input.len())?;
        let by_mask = DivisorBits::of(units_of(mask, mask.len())?);
        let by_mask = Arg::Bytes(bytemuck::bytes_of(&by_mask));
        let args = args![input, mask, result, dtype, mask_dtype, input.len(), by_mask, value];
        self.launch("masked_fill", Grid::elementwise(input.len()), &args)
    }
}
