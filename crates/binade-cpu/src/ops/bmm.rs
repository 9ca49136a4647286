//! Batch of matrix products.

use super::{
    matmul::{extents, gradients, product},
    operands::check,
};
use crate::{Cpu, Error, Tensor};
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
    let (a, b) = (a.to_f32(), b.to_f32());
    let mut products = Vec::with_capacity(pairs(&shape) * m * n);
    for i in 0..pairs(&shape) {
        products.extend(product(matrix(&a, i, m * k), matrix(&b, i, k * n), sizes));
    }
    Tensor::from_f32(products, &shape, dtype)
}

/// Computes `grad·Bᵀ` and `Aᵀ·grad` for each pair.
pub(super) fn product_grads(
    call: &OpInvocation,
    [grad, a, b]: [&Tensor; 3],
) -> Result<[Tensor; 2], Error> {
    let dtype = check(call, &[grad, a, b])?.dtype;
    let sizes @ [m, k, n] = extents(a, b);
    let (grad, x, y) = (grad.to_f32(), a.to_f32(), b.to_f32());
    let (mut da, mut db) = (Vec::with_capacity(x.len()), Vec::with_capacity(y.len()));
    for i in 0..pairs(a.shape()) {
        let (x, y) = (matrix(&x, i, m * k), matrix(&y, i, k * n));
        let (dx, dy) = gradients(matrix(&grad, i, m * n), x, y, sizes);
        da.extend(dx);
        db.extend(dy);
    }
    Ok([Tensor::from_f32(da, a.shape(), dtype)?, Tensor::from_f32(db, b.shape(), dtype)?])
}

/// Returns the number of pairs of matrices.
fn pairs(shape: &[usize]) -> usize {
    shape.iter().rev().skip(2).product()
}

/// Returns the elements of matrix `i` of a batch.
fn matrix(values: &[f32], i: usize, size: usize) -> &[f32] {
    &values[i * size..(i + 1) * size]
}
