//! Rectified linear unit.

use super::pointwise::{MAP, ZIP};
use crate::{Cuda, Error, Tensor, kernels::Kernel};
use binade_core::Op;
use binade_ops::Relu;

pub(super) const KERNELS: &[&Kernel] = &[&RELU, &RELU_BACKWARD];

const RELU: Kernel = Kernel { name: "relu", module: "relu", params: MAP };
const RELU_BACKWARD: Kernel = Kernel { name: "relu_backward", module: "relu", params: ZIP };

impl Relu for Cuda {
    fn relu(&self, input: &Tensor) -> Result<Tensor, Error> {
        self.map(Op::RELU, &RELU, input)
    }

    fn relu_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        self.zip(Op::RELU, &RELU_BACKWARD, grad, output)
    }
}
