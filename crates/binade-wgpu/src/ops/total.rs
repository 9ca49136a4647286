//! Sums over whole tensors, and gradients that are one value everywhere.

use super::operands::pieces;
use super::sum::{SUM, SUM_BACKWARD};
use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        Bound, GROUP, THREADS, groups, parts,
        structs::{self, code, count},
    },
    shaders::Shader,
};
use binade_core::DType;
use binade_gpu::Driver;
use binade_ops::{Fill, shape};

/// Bytes of the parameters.
pub(super) const PARAMS: usize = size_of::<structs::Total>();

/// Elements of a chunk, and below it the invocations that add it up, as the shader's.
const CHUNK: usize = 256;
const TEAM: usize = 16;

impl Wgpu {
    /// Returns the f32 scalar that `shader` computes of operands of one element type and shape, over `divisor`; `of_nothing` if
    /// there are no elements.
    pub(super) fn total(
        &self,
        shader: &'static Shader,
        operands: &[&Tensor],
        divisor: f32,
        of_nothing: f32,
    ) -> Result<Tensor, Error> {
        self.has_made_all(operands)?;
        if operands.iter().any(|operand| operand.is_empty()) {
            return self.fill(of_nothing, &[], DType::F32);
        }
        let mut sums = self.sums_of_chunks(shader, operands, divisor)?;
        while sums.len() > 1 {
            sums = self.sums_of_chunks(&SUM, &[&sums], divisor)?;
        }
        sums.reshape(&[])
    }

    /// Returns a sum for each chunk, over the divisor if there is one chunk.
    fn sums_of_chunks(
        &self,
        shader: &'static Shader,
        operands: &[&Tensor],
        divisor: f32,
    ) -> Result<Tensor, Error> {
        let (len, dtype) = operands.first().map_or((0, DType::F32), |x| (x.len(), x.dtype()));
        let result = self.unset(DType::F32, &[len.div_ceil(CHUNK)])?;
        let divisor = if result.len() == 1 { divisor } else { 1.0 };
        for part in parts(len, dtype.bytes(), self.facts().most_binding_bytes) {
            let chunks = part.start / CHUNK..part.end.div_ceil(CHUNK);
            let (output, at) = Bound::elements(&result, chunks.clone());
            let (len, dtype) = (count(part.len()), code(shader.name, dtype)?);
            let (mut bound, starts) = pieces(operands, &part);
            bound.push(output);
            let params = structs::Total { len, dtype, starts, at, divisor };
            self.dispatch(shader, &params, bound, groups(chunks.len() * TEAM))?;
        }
        Ok(result)
    }

    /// Returns a tensor whose elements are all a scalar's gradient over `divisor`.
    pub(super) fn spread(
        &self,
        grad: &Tensor,
        shape: &[usize],
        dtype: DType,
        divisor: f32,
    ) -> Result<Tensor, Error> {
        shape::fill(shape)?;
        self.has_made_all(&[grad])?;
        let (result, to) = (self.unset(dtype, shape)?, code("fill", dtype)?);
        for part in parts(result.len(), dtype.bytes(), self.facts().most_binding_bytes) {
            let (output, _) = Bound::elements(&result, part.clone());
            let (from, at) = self.whole(grad)?;
            let len = count(part.len());
            let params = structs::Total { len, dtype: to, starts: [0; 2], at, divisor };
            let groups = groups(part.len().div_ceil(GROUP));
            self.dispatch(&SUM_BACKWARD, &params, vec![output, from], groups)?;
        }
        Ok(result)
    }
}

/// Returns a count as a divisor.
#[expect(clippy::cast_precision_loss, reason = "one rounding of 2^-25, of counts beyond 2^24")]
pub(super) fn divisor(count: usize) -> f32 {
    count as f32
}

const _: () = assert!(THREADS.is_multiple_of(TEAM), "teams fill a group");
