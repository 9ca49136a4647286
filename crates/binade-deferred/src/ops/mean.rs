//! Mean of all elements.

use super::{operands, scalar};
use crate::{Deferred, Error, Tensor, tensor::Like};
use binade_core::{DType, Op};
use binade_cpu::Cpu;
use binade_ops::Mean;

impl Mean for Deferred {
    fn mean(&self, input: &Tensor) -> Result<Tensor, Error> {
        operands::float(Op::MEAN, &[input])?;
        Ok(self.tensor(&[input], scalar(), |t| Cpu.mean(t[0])))
    }

    fn mean_backward(&self, grad: &Tensor, shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        operands::scalar_grad(Op::MEAN, grad)?;
        let like = Like { shape: shape.to_vec(), dtype };
        operands::storable(&like)?;
        let shape = like.shape.clone();
        Ok(self.tensor(&[grad], like, move |t| Cpu.mean_backward(t[0], &shape, dtype)))
    }
}
