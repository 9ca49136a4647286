//! Cross-entropy of class labels.

use super::{operands, scalar};
use crate::{Deferred, Error, Tensor};
use binade_core::Op;
use binade_cpu::Cpu;
use binade_ops::{CrossEntropy, shape};

impl CrossEntropy for Deferred {
    fn cross_entropy(&self, logits: &Tensor, labels: &Tensor) -> Result<Tensor, Error> {
        check(logits, labels)?;
        Ok(self.tensor(&[logits, labels], scalar(), |t| Cpu.cross_entropy(t[0], t[1])))
    }

    fn cross_entropy_backward(
        &self,
        grad: &Tensor,
        logits: &Tensor,
        labels: &Tensor,
    ) -> Result<Tensor, Error> {
        check(logits, labels)?;
        operands::scalar_grad(Op::CROSS_ENTROPY, grad)?;
        let work = |t: &[&_]| Cpu.cross_entropy_backward(t[0], t[1], t[2]);
        Ok(self.tensor(&[grad, logits, labels], logits.like(), work))
    }
}

fn check(logits: &Tensor, labels: &Tensor) -> Result<(), Error> {
    shape::cross_entropy(logits.shape(), labels.shape())?;
    operands::float(Op::CROSS_ENTROPY, &[logits])?;
    Ok(operands::integers(Op::CROSS_ENTROPY, labels)?)
}
