//! Batch of matrix products.

use super::gemm::{GemmKernels, product_grads, products};
use crate::{Result, Tensor};
use binade_core::Op;
use binade_ops::shape;

pub fn bmm<D: GemmKernels>(device: &D, a: &Tensor<D>, b: &Tensor<D>) -> Result<Tensor<D>, D> {
    products(device, Op::BMM, a, b, &shape::bmm(a.shape(), b.shape())?)
}

pub fn bmm_backward<D: GemmKernels>(
    device: &D,
    grad: &Tensor<D>,
    a: &Tensor<D>,
    b: &Tensor<D>,
) -> Result<[Tensor<D>; 2], D> {
    product_grads(device, Op::BMM, [grad, a, b], &shape::bmm(a.shape(), b.shape())?)
}
