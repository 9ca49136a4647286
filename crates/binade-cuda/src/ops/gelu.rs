//! Gaussian error linear unit.

use super::pointwise::{MAP, ZIP};
use crate::{Cuda, Error, Tensor, kernels::Kernel};
use binade_core::Op;
use binade_ops::Gelu;

pub(super) const KERNELS: &[&Kernel] = &[&GELU, &GELU_BACKWARD];

const GELU: Kernel = Kernel { name: "gelu", module: "gelu", params: MAP };
const GELU_BACKWARD: Kernel = Kernel { name: "gelu_backward", module: "gelu", params: ZIP };

impl Gelu for Cuda {
    fn gelu(&self, input: &Tensor) -> Result<Tensor, Error> {
        self.map(Op::GELU, &GELU, input)
    }

    fn gelu_backward(&self, grad: &Tensor, input: &Tensor) -> Result<Tensor, Error> {
        self.zip(Op::GELU, &GELU_BACKWARD, grad, input)
    }
}
