//! Batch of matrix products.

use crate::{Error, Tensor, Wgpu, shaders::Shader};
use binade_core::Op;
use binade_ops::{Bmm, operands, shape};

pub(super) const SHADERS: &[&Shader] = &[];

impl Bmm for Wgpu {
    fn bmm(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
        let shape = shape::bmm(a.shape(), b.shape())?;
        operands::float(Op::BMM, &[a, b])?;
        self.products(a, b, &shape)
    }

    fn bmm_backward(&self, grad: &Tensor, a: &Tensor, b: &Tensor) -> Result<[Tensor; 2], Error> {
        let shape = shape::bmm(a.shape(), b.shape())?;
        let dtype = operands::float(Op::BMM, &[a, b])?;
        operands::grad(Op::BMM, grad, &shape, dtype)?;
        self.gradients_of_products(grad, a, b)
    }
}
