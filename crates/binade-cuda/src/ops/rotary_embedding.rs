//! Rotary position embedding.

use crate::{
    Cuda, CudaError, Error, Result, Tensor,
    kernels::THREADS,
    launch::{Arg, Grid, args, code, structs::DivisorBits},
};
use binade_gpu::RotaryEmbeddingKernels;

/// Pairs that a thread rotates at once.
const GROUP: usize = 8;

impl RotaryEmbeddingKernels for Cuda {
    fn launch_rotary_embedding(
        &self,
        [input, cos, sin]: [&Tensor; 3],
        direction: f32,
        result: &Tensor,
    ) -> Result {
        let fits = |extent: usize| {
            let sizes = input.shape().to_vec();
            let too_large = CudaError::TooLarge { what: "a rotary embedding", sizes };
            i32::try_from(extent).map(i32::cast_unsigned).map_err(|_| Error::Driver(too_large))
        };
        let (rows, half) = (cos.shape()[0], cos.shape()[1]);
        let of_line = half.div_ceil(GROUP);
        let groups = input.len() / (2 * half) * of_line;
        let [by_groups, by_rows] = [DivisorBits::of(fits(of_line)?), DivisorBits::of(fits(rows)?)];
        let args = args![
            input,
            cos,
            sin,
            result,
            code("rotate", input.dtype())?,
            Arg::Bytes(bytemuck::bytes_of(&by_groups)),
            Arg::Bytes(bytemuck::bytes_of(&by_rows)),
            fits(groups)?,
            fits(half)?,
            direction,
        ];
        self.launch("rotary_embedding", Grid::of(groups.div_ceil(THREADS as usize)), &args)
    }
}
