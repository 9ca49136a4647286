//! Dropout: zeroes elements at random and scales the rest.

use super::operands;
use crate::{Deferred, Error, Tensor};
use binade_core::Op;
use binade_cpu::Cpu;
use binade_ops::{Dropout, shape};

impl Dropout for Deferred {
    fn dropout(&self, input: &Tensor, key: &Tensor, p: f32) -> Result<Tensor, Error> {
        shape::dropout(input.shape(), key.shape(), p)?;
        operands::float(Op::DROPOUT, &[input])?;
        operands::integers(Op::DROPOUT, key)?;
        Ok(self.tensor(&[input, key], input.like(), move |t| Cpu.dropout(t[0], t[1], p)))
    }

    fn dropout_backward(&self, grad: &Tensor, key: &Tensor, p: f32) -> Result<Tensor, Error> {
        shape::dropout(grad.shape(), key.shape(), p)?;
        operands::float(Op::DROPOUT, &[grad])?;
        operands::integers(Op::DROPOUT, key)?;
        Ok(self.tensor(&[grad, key], grad.like(), move |t| Cpu.dropout_backward(t[0], t[1], p)))
    }
}
