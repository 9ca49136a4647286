//! Matrix product.

use super::gemm::{GemmKernels, product_grads, products};
use crate::{Result, Tensor};
use binade_core::Op;
use binade_ops::shape;

pub fn matmul<D: GemmKernels>(device: &D, a: &Tensor<D>, b: &Tensor<D>) -> Result<Tensor<D>, D> {
    products(device, Op::MATMUL, a, b, &shape::matmul(a.shape(), b.shape())?)
}

pub fn matmul_backward<D: GemmKernels>(
    device: &D,
    grad: &Tensor<D>,
    a: &Tensor<D>,
    b: &Tensor<D>,
) -> Result<[Tensor<D>; 2], D> {
    product_grads(device, Op::MATMUL, [grad, a, b], &shape::matmul(a.shape(), b.shape())?)
}
