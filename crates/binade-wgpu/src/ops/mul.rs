//! Elementwise product.

use super::pointwise::{PARAMS, ZIP};
use crate::{Error, Tensor, Wgpu, shaders::Shader};
use binade_core::Op;
use binade_ops::Mul;

pub(super) const SHADERS: &[&Shader] = &[&MUL];

const MUL: Shader = Shader { name: "mul", file: "mul", params: PARAMS, bindings: ZIP };

impl Mul for Wgpu {
    fn mul(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
        self.zip(Op::MUL, &MUL, a, b)
    }

    fn mul_backward(&self, grad: &Tensor, a: &Tensor, b: &Tensor) -> Result<[Tensor; 2], Error> {
        Ok([self.mul(grad, b)?, self.mul(grad, a)?])
    }
}
