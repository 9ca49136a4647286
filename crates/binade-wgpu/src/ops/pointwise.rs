//! Elementwise shaders, dispatched in parts that fit in a binding.

use super::operands::{by_group, pieces};
use crate::{
    Result, Tensor, Wgpu,
    dispatch::{
        Bound, GROUP, groups,
        structs::{self, code, count},
    },
};
use binade_gpu::PointwiseKernels;

impl PointwiseKernels for Wgpu {
    fn launch_each(&self, kernel: &'static str, operands: &[&Tensor], result: &Tensor) -> Result {
        let dtype = code(kernel, result.dtype())?;
        for part in self.parts_of(result) {
            let (mut bound, starts) = pieces(operands, &part);
            let params = structs::Pointwise { len: count(part.len()), dtype, starts };
            // The third of three operands is bound behind the result.
            bound.insert(operands.len().min(2), Bound::elements(result, part.clone()).0);
            self.dispatch(kernel, &params, bound, by_group(part.len()))?;
        }
        Ok(())
    }

    fn launch_fill(&self, value: f32, result: &Tensor) -> Result {
        let dtype = code("fill", result.dtype())?;
        for part in self.parts_of(result) {
            let words = part.len().div_ceil(4 / result.dtype().bytes());
            let (output, _) = Bound::elements(result, part);
            let params = structs::Fill { len: count(words), dtype, value: value.to_bits() };
            self.dispatch("fill", &params, vec![output], groups(words))?;
        }
        Ok(())
    }

    fn launch_dropout(&self, tensors: [&Tensor; 3], threshold: u64, factor: f32) -> Result {
        let [input, key, result] = tensors;
        let Ok(threshold) = u32::try_from(threshold) else {
            return self.launch_fill(0.0, result);
        };
        let dtype = code("dropout", result.dtype())?;
        for part in self.parts_of(result) {
            let (mut bound, starts) = pieces(&[input], &part);
            let (words, key_start) = self.whole_words(key)?;
            bound.extend([Bound::elements(result, part.clone()).0, words]);
            let (len, first) = (count(part.len()), count(part.start / GROUP));
            let params =
                structs::Dropout { len, dtype, starts, first, key_start, threshold, factor };
            self.dispatch("dropout", &params, bound, by_group(part.len()))?;
        }
        Ok(())
    }
}
