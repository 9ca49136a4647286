//! What operations ask of their operands' element types: known at once, and so refused at once.

use crate::{Error, Tensor, tensor::Like};
use binade_core::{DType, Op};
use binade_ops::{Fill, Operand, OperandError, operands, shape};

pub(super) use binade_ops::operands::{all_f32, float, integers, norm, scalar_grad};

impl Operand for Tensor {
    fn dtype(&self) -> DType {
        self.dtype()
    }

    fn shape(&self) -> &[usize] {
        self.shape()
    }
}

/// Holds a gradient to the shape and element type of what it is the gradient of.
pub(super) fn grad(op: Op, grad: &Tensor, of: &Like) -> Result<(), OperandError> {
    operands::grad(op, grad, &of.shape, of.dtype)
}

/// What the CPU cannot fill it cannot fill without elements either.
pub(super) fn storable(like: &Like) -> Result<(), Error> {
    shape::fill(&like.shape)?;
    binade_cpu::Cpu.fill(0.0, &[0], like.dtype)?;
    Ok(())
}
