//! Batch of matrix products.

use super::{matmul::extents, operands::check};
use crate::{
    Cpu, Error, Tensor, pool,
    product::{Matrix, product},
};
use binade_core::TensorSpec;
use binade_core::ops::{Bmm, OpInvocation};

impl Bmm for Cpu {
    fn bmm(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
        products(&OpInvocation::Bmm, a, b)
    }

    fn bmm_backward(&self, grad: &Tensor, a: &Tensor, b: &Tensor) -> Result<[Tensor; 2], Error> {
        product_grads(&OpInvocation::BmmBackward, [grad, a, b])
    }
}

/// Computes `A·B` for each pair of matrices.
pub(super) fn products(call: &OpInvocation, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
    let TensorSpec { dtype, shape } = check(call, &[a, b])?;
    let [m, k, n] = extents(a, b);
    let mut products = pool::scratch(pairs(&shape) * m * n);
    for (i, result) in products.chunks_exact_mut((m * n).max(1)).enumerate() {
        product(Matrix::of(a, i, m, k), Matrix::of(b, i, k, n), result);
    }
    Tensor::from_f32(products, &shape, dtype)
}

/// Computes `grad·Bᵀ` and `Aᵀ·grad` for each pair.
pub(super) fn product_grads(
    call: &OpInvocation,
    [grad, a, b]: [&Tensor; 3],
) -> Result<[Tensor; 2], Error> {
    let dtype = check(call, &[grad, a, b])?.dtype;
    let [m, k, n] = extents(a, b);
    let (mut da, mut db) = (pool::scratch(a.len()), pool::scratch(b.len()));
    let each = da.chunks_exact_mut((m * k).max(1)).zip(db.chunks_exact_mut((k * n).max(1)));
    for (i, (da, db)) in each.enumerate() {
        let (x, y) = (Matrix::of(a, i, m, k), Matrix::of(b, i, k, n));
        let grad = Matrix::of(grad, i, m, n);
        product(grad, y.transposed(), da);
        product(x.transposed(), grad, db);
    }
    Ok([Tensor::from_f32(da, a.shape(), dtype)?, Tensor::from_f32(db, b.shape(), dtype)?])
}

/// Returns the number of pairs of matrices.
fn pairs(shape: &[usize]) -> usize {
    shape.iter().rev().skip(2).product()
}
