//! Part of a tensor along one axis.

use super::operands::check;
use crate::{Cpu, Error, Stored, Tensor, parallel};
use binade_core::ops::{Narrow, OpInvocation, shape::Part};
use binade_core::{DType, TensorSpec};
use half::{bf16, f16};

impl Narrow for Cpu {
    fn narrow(
        &self,
        input: &Tensor,
        axis: usize,
        start: usize,
        len: usize,
    ) -> Result<Tensor, Error> {
        let TensorSpec { dtype, shape } =
            check(&OpInvocation::Narrow { axis, start, len }, &[input])?;
        let part = Part::new(input.shape(), axis, start, len);
        match dtype {
            DType::BF16 => taken::<bf16>(input, part, &shape),
            DType::F16 => taken::<f16>(input, part, &shape),
            _ => taken::<f32>(input, part, &shape),
        }
    }

    fn narrow_backward(
        &self,
        grad: &Tensor,
        shape: &[usize],
        axis: usize,
        start: usize,
    ) -> Result<Tensor, Error> {
        let call = OpInvocation::NarrowBackward { shape: shape.to_vec(), axis, start };
        let TensorSpec { dtype, shape } = check(&call, &[grad])?;
        let parts = [(grad, Part::new(&shape, axis, start, grad.shape()[axis]))];
        match dtype {
            DType::BF16 => joined(&parts, &shape, bf16::ZERO),
            DType::F16 => joined(&parts, &shape, f16::ZERO),
            _ => joined(&parts, &shape, 0.0_f32),
        }
    }
}

/// Copies the elements of a part.
fn taken<E: Stored>(input: &Tensor, part: Part, shape: &[usize]) -> Result<Tensor, Error> {
    let from = input.as_slice::<E>().unwrap_or_default();
    if part.is_empty() {
        return Tensor::new(Vec::<E>::new(), shape);
    }
    let lines = from[part.first..].chunks(part.stride).take(part.lines);
    Tensor::new(lines.flat_map(|line| &line[..part.len]).copied().collect::<Vec<E>>(), shape)
}

/// Returns a tensor of `shape` with each tensor's elements in its part, and `zero` elsewhere.
pub(super) fn joined<E: Stored>(
    parts: &[(&Tensor, Part)],
    shape: &[usize],
    zero: E,
) -> Result<Tensor, Error> {
    let mut to = vec![zero; shape.iter().product()];
    // All parts have lines of one stride.
    let stride = parts.first().map_or(0, |(_, part)| part.stride);
    parallel::rows(&mut to, stride.max(1), stride, |first, lines| {
        for (number, line) in (first..).zip(lines.chunks_exact_mut(stride)) {
            for (tensor, part) in parts.iter().filter(|(_, part)| !part.is_empty()) {
                let from = &tensor.as_slice::<E>().unwrap_or_default()[number * part.len..];
                line[part.first..][..part.len].copy_from_slice(&from[..part.len]);
            }
        }
    });
    Tensor::new(to, shape)
}
