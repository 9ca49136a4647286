//! Matrix product.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

use super::gemm::{Gemm, Matrices};
use crate::{Cuda, Error, Tensor, kernels::Kernel};
use binade_core::Op;
use binade_gpu::Driver;
use binade_ops::{MatMul, operands, shape};

pub(super) const KERNELS: &[&Kernel] = &[];

impl MatMul for Cuda {
    fn matmul(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
        let shape = shape::matmul(a.shape(), b.shape())?;
        operands::float(Op::MATMUL, &[a, b])?;
        self.multiplied(a, b, &shape)
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

impl Cuda {
    /// Computes `A·B` for each pair of matrices.
    pub(super) fn multiplied(
        &self,
        a: &Tensor,
        b: &Tensor,
        shape: &[usize],
    ) -> Result<Tensor, Error> {
        self.has_made_all(&[a, b])?;
        let [batch, m, k, n] = extents(a, b);
        let result = self.unset(a.dtype(), shape)?;
        let c = Matrices::dense(&result, m, n);
        let (a, b) = (Matrices::dense(a, m, k), Matrices::dense(b, k, n));
        self.gemm(&Gemm { batch, by_pair: true, ..Gemm::of(a, b, c, [m, n, k]) })?;
        Ok(result)
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
        let (of_a, of_b) = (self.unset(a.dtype(), a.shape())?, self.unset(b.dtype(), b.shape())?);
        let g = Matrices::dense(grad, m, n);
        let (x, y) = (Matrices::dense(a, m, k), Matrices::dense(b, k, n));
        let (dx, dy) = (Matrices::dense(&of_a, m, k), Matrices::dense(&of_b, k, n));
        self.gemm(&Gemm { batch, ..Gemm::of(g, y.transposed(), dx, [m, k, n]) })?;
        self.gemm(&Gemm { batch, ..Gemm::of(x.transposed(), g, dy, [k, n, m]) })?;
        Ok([of_a, of_b])
    }
}
