//! Elementwise product.

use super::pointwise::ZIP;
use crate::{Cuda, Error, Tensor, kernels::Kernel};
use binade_core::Op;
use binade_ops::Mul;

pub(super) const KERNELS: &[&Kernel] = &[&MUL];

const MUL: Kernel = Kernel { name: "mul", module: "mul", params: ZIP };

impl Mul for Cuda {
    fn mul(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
        self.zip(Op::MUL, &MUL, a, b)
    }

    fn mul_backward(&self, grad: &Tensor, a: &Tensor, b: &Tensor) -> Result<[Tensor; 2], Error> {
        Ok([self.mul(grad, b)?, self.mul(grad, a)?])
    }
}
