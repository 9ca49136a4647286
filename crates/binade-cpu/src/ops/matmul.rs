//! Matrix product.

use super::bmm::{product_grads, products};
use crate::{
    Cpu, Error, Tensor,
    reduce::{add_product, matrix},
};
use binade_core::ops::{MatMul, OpInvocation};

impl MatMul for Cpu {
    fn matmul(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
        products(&OpInvocation::MatMul, a, b)
    }

    fn matmul_backward(&self, grad: &Tensor, a: &Tensor, b: &Tensor) -> Result<[Tensor; 2], Error> {
        product_grads(&OpInvocation::MatMulBackward, [grad, a, b])
    }
}

/// Extents M, K and N of the last two axes.
pub(super) type Extents = [usize; 3];

/// Returns the extents of operands that have been checked.
pub(super) fn extents(a: &Tensor, b: &Tensor) -> Extents {
    match (a.shape(), b.shape()) {
        ([.., m, k], [.., n]) => [*m, *k, *n],
        _ => [0; 3],
    }
}

/// Computes `a·b`, row-major.
pub(super) fn product(a: &[f32], b: &[f32], [m, k, n]: Extents) -> Vec<f32> {
    let mut c = vec![0.0; m * n];
    add_product(&matrix(a, m, k), &matrix(b, k, n), &mut c);
    c
}

/// Computes `grad·bᵀ` and `aᵀ·grad`, row-major.
pub(super) fn gradients(
    grad: &[f32],
    a: &[f32],
    b: &[f32],
    [m, k, n]: Extents,
) -> (Vec<f32>, Vec<f32>) {
    let (mut da, mut db) = (vec![0.0; m * k], vec![0.0; k * n]);
    add_product(&matrix(grad, m, n), &matrix(b, k, n).reversed_axes(), &mut da);
    add_product(&matrix(a, m, k).reversed_axes(), &matrix(grad, m, n), &mut db);
    (da, db)
}
