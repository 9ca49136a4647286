//! Checks of operands' element types, which are known, and so refused, at once.

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

/// Checks that a gradient has the shape and element type of the tensor that it belongs to.
pub(super) fn grad(op: Op, grad: &Tensor, of: &Like) -> Result<(), OperandError> {
    operands::grad(op, grad, &of.shape, of.dtype)
}

/// Refuses a tensor that the CPU cannot fill; it would refuse one without elements too.
pub(super) fn storable(like: &Like) -> Result<(), Error> {
    shape::fill(&like.shape)?;
    binade_cpu::Cpu.fill(0.0, &[0], like.dtype)?;
    Ok(())
}
