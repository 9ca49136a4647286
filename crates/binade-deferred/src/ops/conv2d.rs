//! Two-dimensional convolution.

use super::{affine, operands};
use crate::{Deferred, Error, Tensor, tensor::Like};
use binade_core::Op;
use binade_cpu::Cpu;
use binade_ops::{AffineGrads, Conv2d, Conv2dConfig, shape};

impl Conv2d for Deferred {
    fn conv2d(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
        config: Conv2dConfig,
    ) -> Result<Tensor, Error> {
        let like = output(input, weight, bias, config)?;
        let operands = affine::operands(input, weight, bias);
        let work = move |t: &[&_]| Cpu.conv2d(t[0], t[1], t.get(2).copied(), config);
        Ok(self.tensor(&operands, like, work))
    }

    fn conv2d_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        bias: bool,
        config: Conv2dConfig,
    ) -> Result<AffineGrads<Tensor>, Error> {
        operands::grad(Op::CONV2D, grad, &output(input, weight, None, config)?)?;
        let work = move |t: &[&_]| Cpu.conv2d_backward(t[0], t[1], t[2], bias, config);
        Ok(affine::grads(self, [grad, input, weight], bias, work))
    }
}

fn output(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    config: Conv2dConfig,
) -> Result<Like, Error> {
    let shape = shape::conv2d(input.shape(), weight.shape(), bias.map(Tensor::shape), config)?;
    let dtype = operands::float(Op::CONV2D, &affine::operands(input, weight, bias))?;
    Ok(Like { shape, dtype })
}
