//! Hyperbolic tangent.

use super::pointwise::{MAP, ZIP};
use crate::{Cuda, Error, Tensor, kernels::Kernel};
use binade_core::Op;
use binade_ops::Tanh;

pub(super) const KERNELS: &[&Kernel] = &[&TANH, &TANH_BACKWARD];

const TANH: Kernel = Kernel { name: "tanh_forward", module: "tanh", params: MAP };
const TANH_BACKWARD: Kernel = Kernel { name: "tanh_backward", module: "tanh", params: ZIP };

impl Tanh for Cuda {
    fn tanh(&self, input: &Tensor) -> Result<Tensor, Error> {
        self.map(Op::TANH, &TANH, input)
    }

    fn tanh_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        self.zip(Op::TANH, &TANH_BACKWARD, grad, output)
    }
}
