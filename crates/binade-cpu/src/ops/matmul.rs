//! Matrix product.

use super::bmm::{product_grads, products};
use crate::{Cpu, Error, Tensor};
use binade_core::ops::{MatMul, OpInvocation};

impl MatMul for Cpu {
    fn matmul(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
        products(&OpInvocation::MatMul, a, b)
    }

    fn matmul_backward(&self, grad: &Tensor, a: &Tensor, b: &Tensor) -> Result<[Tensor; 2], Error> {
        product_grads(&OpInvocation::MatMulBackward, [grad, a, b])
    }
}

/// Returns the extents M, K and N of the last two axes of operands that have been checked.
pub(super) fn extents(a: &Tensor, b: &Tensor) -> [usize; 3] {
    match (a.shape(), b.shape()) {
        ([.., m, k], [.., n]) => [*m, *k, *n],
        _ => [0; 3],
    }
}
