//! What operations ask of their operands: type and shape as everywhere, and memory of the handle that is asked.

use crate::{Error, Tensor, Wgpu};
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

impl Wgpu {
    /// Refuses operands of another handle.
    pub(super) fn has_made_all(&self, operands: &[&Tensor]) -> Result<(), Error> {
        operands.iter().try_for_each(|operand| self.has_made(operand.buffer()))
    }
}
