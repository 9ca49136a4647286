//! Matrix product.

use super::bmm::{product_grads, products};
use crate::{
    Cpu, Error, Tensor, parallel,
    product::{Matrix, add_product},
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
pub(super) fn product(a: Matrix<'_>, b: Matrix<'_>, [m, _, n]: Extents) -> Vec<f32> {
    let mut c = parallel::zeros(m * n);
    add_product(a, b, &mut c);
    c
}
