//! Tensors joined along an axis.

use super::narrow::joined;
use super::operands::check;
use crate::{Cpu, Error, Tensor};
use binade_core::ops::{Cat, OpInvocation, shape::Part};
use binade_core::{DType, TensorSpec};
use half::{bf16, f16};

impl Cat for Cpu {
    fn cat(&self, inputs: &[&Tensor], axis: usize) -> Result<Tensor, Error> {
        let TensorSpec { dtype, shape } = check(&OpInvocation::Cat { axis }, inputs)?;
        let mut start = 0;
        let part = |input: &&Tensor| {
            let extent = input.shape()[axis];
            start += extent;
            Part::new(&shape, axis, start - extent, extent)
        };
        let parts: Vec<Part> = inputs.iter().map(part).collect();
        let parts: Vec<_> = inputs.iter().copied().zip(parts).collect();
        match dtype {
            DType::BF16 => joined(&parts, &shape, bf16::ZERO),
            DType::F16 => joined(&parts, &shape, f16::ZERO),
            _ => joined(&parts, &shape, 0.0_f32),
        }
    }
}
