//! Sums over whole tensors, and gradients that are one value everywhere.

use super::operands::{by_group, pieces};
use crate::{
    Result, Tensor, Wgpu,
    dispatch::{
        Bound, THREADS, groups,
        structs::{self, code, count},
    },
};
use binade_core::DType;
use binade_gpu::{Driver, PointwiseKernels, Total, TotalKernels};

/// Elements of a chunk, and below it the invocations that add it up, as the shader's.
const CHUNK: usize = 256;
const TEAM: usize = 16;

impl TotalKernels for Wgpu {
    fn launch_total(&self, total: Total, operands: &[&Tensor], result: &Tensor) -> Result {
        let len = operands.first().map_or(0, |operand| operand.len());
        if len == 0 {
            return self.launch_fill(if total == Total::Sum { 0.0 } else { f32::NAN }, result);
        }
        let divisor = divisor(total, len);
        let shader = if total == Total::MseLoss { "mse_loss" } else { "sum" };
        if len <= CHUNK {
            return self.sums_of_chunks(shader, operands, divisor, result);
        }
        let mut sums = self.unset(DType::F32, &[len.div_ceil(CHUNK)])?;
        self.sums_of_chunks(shader, operands, 1.0, &sums)?;
        while sums.len() > CHUNK {
            let less = self.unset(DType::F32, &[sums.len().div_ceil(CHUNK)])?;
            self.sums_of_chunks("sum", &[&sums], 1.0, &less)?;
            sums = less;
        }
        self.sums_of_chunks("sum", &[&sums], divisor, result)
    }

    fn launch_spread(&self, total: Total, grad: &Tensor, result: &Tensor) -> Result {
        let (dtype, divisor) = (code("fill", result.dtype())?, divisor(total, result.len()));
        for part in self.parts_of(result) {
            let (output, _) = Bound::elements(result, part.clone());
            let (from, at) = self.whole(grad)?;
            let len = count(part.len());
            let params = structs::Total { len, dtype, starts: [0; 2], at, divisor };
            self.dispatch("sum_backward", &params, vec![output, from], by_group(part.len()))?;
        }
        Ok(())
    }

    fn launch_mse_loss_backward(&self, operands: [&Tensor; 3], grads: [&Tensor; 2]) -> Result {
        let ([grad, input, target], [of_input, of_target]) = (operands, grads);
        self.towards(grad, [input, target], of_input)?;
        self.towards(grad, [target, input], of_target)
    }
}

impl Wgpu {
    /// Computes a sum for each chunk, divided by the divisor.
    fn sums_of_chunks(
        &self,
        shader: &'static str,
        operands: &[&Tensor],
        divisor: f32,
        result: &Tensor,
    ) -> Result {
        let Some(first) = operands.first() else { return Ok(()) };
        let dtype = code(shader, first.dtype())?;
        for part in self.parts_of(first) {
            let chunks = part.start / CHUNK..part.end.div_ceil(CHUNK);
            let (output, at) = Bound::elements(result, chunks.clone());
            let (mut bound, starts) = pieces(operands, &part);
            bound.push(output);
            let params = structs::Total { len: count(part.len()), dtype, starts, at, divisor };
            self.dispatch(shader, &params, bound, groups(chunks.len() * TEAM))?;
        }
        Ok(())
    }

    /// Computes `2·(x − y)·grad / count`.
    fn towards(&self, grad: &Tensor, operands: [&Tensor; 2], result: &Tensor) -> Result {
        let (dtype, divisor) =
            (code("mse_loss", result.dtype())?, divisor(Total::MseLoss, result.len()));
        for part in self.parts_of(result) {
            let (mut bound, starts) = pieces(&operands, &part);
            let (from, at) = self.whole(grad)?;
            bound.extend([Bound::elements(result, part.clone()).0, from]);
            let params = structs::Total { len: count(part.len()), dtype, starts, at, divisor };
            self.dispatch("mse_loss_backward", &params, bound, by_group(part.len()))?;
        }
        Ok(())
    }
}

/// Returns the divisor of a sum of this number of elements.
fn divisor(total: Total, elements: usize) -> f32 {
    if total == Total::Sum { 1.0 } else { float(elements) }
}

/// Returns a count as a divisor.
#[expect(clippy::cast_precision_loss, reason = "one rounding of 2^-25, of counts beyond 2^24")]
pub(super) fn float(count: usize) -> f32 {
    count as f32
}

const _: () = assert!(THREADS.is_multiple_of(TEAM), "teams fill a group");
