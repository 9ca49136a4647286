//! Batch of matrix products.

use super::{
    matmul::{extents, product},
    operands::check,
};
use crate::{Cpu, Error, Tensor, product::Matrix};
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
    let sizes @ [m, k, n] = extents(a, b);
    let mut products = Vec::with_capacity(pairs(&shape) * m * n);
    for i in 0..pairs(&shape) {
        products.extend(product(Matrix::of(a, i, m, k), Matrix::of(b, i, k, n), sizes));
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
    let (mut da, mut db) = (Vec::with_capacity(a.len()), Vec::with_capacity(b.len()));
    for i in 0..pairs(a.shape()) {
        let (x, y, grad) =
            (Matrix::of(a, i, m, k), Matrix::of(b, i, k, n), Matrix::of(grad, i, m, n));
        da.extend(product(grad, y.transposed(), [m, n, k]));
        db.extend(product(x.transposed(), grad, [k, m, n]));
    }
    Ok([Tensor::from_f32(da, a.shape(), dtype)?, Tensor::from_f32(db, b.shape(), dtype)?])
}

/// Returns the number of pairs of matrices.
fn pairs(shape: &[usize]) -> usize {
    shape.iter().rev().skip(2).product()
}
