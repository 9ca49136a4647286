//! Rotary position embedding.

use super::operands::by_group;
use crate::{
    Result, Tensor, Wgpu,
    dispatch::{
        Bound,
        structs::{self, code, count},
    },
};
use binade_gpu::RotaryEmbeddingKernels;

impl RotaryEmbeddingKernels for Wgpu {
    fn launch_rotary_embedding(
        &self,
        [input, cos, sin]: [&Tensor; 3],
        direction: f32,
        result: &Tensor,
    ) -> Result {
        for part in self.parts_of(result) {
            let (from, start) = self.whole(input)?;
            let (cosines, cos_start) = self.whole(cos)?;
            let (sines, sin_start) = self.whole(sin)?;
            let params = structs::Rotary {
                len: count(part.len()),
                dtype: code("rotate", result.dtype())?,
                start,
                first: count(part.start),
                rows: count(cos.shape()[0]),
                half: count(cos.shape()[1]),
                cos_start,
                sin_start,
                sign: direction,
            };
            let output = Bound::elements(result, part.clone()).0;
            let bound = vec![from, cosines, sines, output];
            self.dispatch("rotary_embedding", &params, bound, by_group(part.len()))?;
        }
        Ok(())
    }
}
