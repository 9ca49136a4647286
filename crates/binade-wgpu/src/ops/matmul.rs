//! Matrix product.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

use super::gemm::{Bias, Gemm, Matrices};
use crate::{Error, Tensor, Wgpu, shaders::Shader};
use binade_core::Op;
use binade_gpu::Driver;
use binade_ops::{MatMul, operands, shape};

pub(super) const SHADERS: &[&Shader] = &[];

impl MatMul for Wgpu {
    fn matmul(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
        let shape = shape::matmul(a.shape(), b.shape())?;
        operands::float(Op::MATMUL, &[a, b])?;
        self.products(a, b, &shape)
    }

    fn matmul_backward(&self, grad: &Tensor, a: &Tensor, b: &Tensor) -> Result<[Tensor; 2], Error> {
        let shape = shape::matmul(a.shape(), b.shape())?;
        let dtype = operands::float(Op::MATMUL, &[a, b])?;
        operands::grad(Op::MATMUL, grad, &shape, dtype)?;
        self.gradients_of_products(grad, a, b)
    }
}

/// Returns the number of pairs of matrices, and M, K and N of each, of operands that have been checked.
fn extents(a: &Tensor, b: &Tensor) -> [usize; 4] {
    match (a.shape(), b.shape()) {
        ([lead @ .., m, k], [.., n]) => [lead.iter().product(), *m, *k, *n],
        _ => [0; 4],
    }
}

impl Wgpu {
    /// Computes `A·B` for each pair of matrices.
    pub(super) fn products(
        &self,
        a: &Tensor,
        b: &Tensor,
        shape: &[usize],
    ) -> Result<Tensor, Error> {
        self.has_made_all(&[a, b])?;
        let [batch, m, k, n] = extents(a, b);
        let dtype = a.dtype();
        let (a, b) = (Matrices::dense(a, m, k), Matrices::dense(b, k, n));
        let extents = [m, k, n];
        let gemm = Gemm { a, b, bias: Bias::None, extents, batch, beside: false };
        self.gemm(&gemm, shape, dtype)
    }

    /// Computes `grad·Bᵀ` and `Aᵀ·grad` for each pair.
    pub(super) fn gradients_of_products(
        &self,
        grad: &Tensor,
        a: &Tensor,
        b: &Tensor,
    ) -> Result<[Tensor; 2], Error> {
        self.has_made_all(&[grad, a, b])?;
        let [batch, m, k, n] = extents(a, b);
        let g = Matrices::dense(grad, m, n);
        let (x, y) = (Matrices::dense(a, m, k), Matrices::dense(b, k, n));
        let of = |a, b, extents| Gemm { a, b, bias: Bias::None, extents, batch, beside: false };
        let of_a = of(g, y.transposed(), [m, n, k]);
        let of_b = of(x.transposed(), g, [k, m, n]);
        Ok([self.gemm(&of_a, a.shape(), a.dtype())?, self.gemm(&of_b, b.shape(), b.dtype())?])
    }
}
