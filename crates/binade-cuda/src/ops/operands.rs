//! What operations ask of their operands: type and shape as everywhere, and memory of the handle that is asked.

use crate::{Cuda, Error, Tensor};
use binade_core::DType;
use binade_ops::Operand;

impl Operand for Tensor {
    fn dtype(&self) -> DType {
        self.dtype()
    }

    fn shape(&self) -> &[usize] {
        self.shape()
    }
}

impl Cuda {
    /// Refuses operands of another handle.
    pub(super) fn has_made_all(&self, operands: &[&Tensor]) -> Result<(), Error> {
        operands.iter().try_for_each(|operand| self.has_made(operand.buffer()))
    }
}
