//! Mean of each of a given number of windows.

use super::{avg_pool2d::Planes, operands::check};
use crate::{Cpu, Error, Tensor};
use binade_core::ops::{AdaptiveAvgPool2d, OpInvocation, shape::Pooling};

impl AdaptiveAvgPool2d for Cpu {
    fn adaptive_avg_pool2d(&self, input: &Tensor, output: [usize; 2]) -> Result<Tensor, Error> {
        let spec = check(&OpInvocation::AdaptiveAvgPool2d { output }, &[input])?;
        Planes(Pooling::adaptive(input.shape(), &spec.shape)).forward(input, &spec)
    }

    fn adaptive_avg_pool2d_backward(
        &self,
        grad: &Tensor,
        shape: &[usize],
    ) -> Result<Tensor, Error> {
        let call = OpInvocation::AdaptiveAvgPool2dBackward { shape: shape.to_vec() };
        let spec = check(&call, &[grad])?;
        Planes(Pooling::adaptive(shape, grad.shape())).backward(grad, &spec)
    }
}
