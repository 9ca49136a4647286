//! Sum of all elements.

use super::{operands, scalar};
use crate::{Deferred, Error, Tensor, tensor::Like};
use binade_core::{DType, Op};
use binade_cpu::Cpu;
use binade_ops::Sum;

impl Sum for Deferred {
    fn sum(&self, input: &Tensor) -> Result<Tensor, Error> {
        operands::float(Op::SUM, &[input])?;
        Ok(self.tensor(&[input], scalar(), |t| Cpu.sum(t[0])))
    }

    fn sum_backward(&self, grad: &Tensor, shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        operands::scalar_grad(Op::SUM, grad)?;
        let like = Like { shape: shape.to_vec(), dtype };
        operands::storable(&like)?;
        let shape = like.shape.clone();
        Ok(self.tensor(&[grad], like, move |t| Cpu.sum_backward(t[0], &shape, dtype)))
    }
}
