//! Largest element of each window.

use super::operands;
use crate::{Deferred, Error, Tensor, tensor::Like};
use binade_core::Op;
use binade_cpu::Cpu;
use binade_ops::{MaxPool2d, MaxPool2dConfig, shape};

impl MaxPool2d for Deferred {
    fn max_pool2d(&self, input: &Tensor, config: MaxPool2dConfig) -> Result<Tensor, Error> {
        let like = pooled(input, config)?;
        Ok(self.tensor(&[input], like, move |t| Cpu.max_pool2d(t[0], config)))
    }

    fn max_pool2d_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        config: MaxPool2dConfig,
    ) -> Result<Tensor, Error> {
        operands::grad(Op::MAX_POOL2D, grad, &pooled(input, config)?)?;
        let work = move |t: &[&_]| Cpu.max_pool2d_backward(t[0], t[1], config);
        Ok(self.tensor(&[grad, input], input.like(), work))
    }
}

fn pooled(input: &Tensor, config: MaxPool2dConfig) -> Result<Like, Error> {
    let shape = shape::max_pool2d(input.shape(), config)?;
    Ok(Like { shape, dtype: operands::float(Op::MAX_POOL2D, &[input])? })
}
