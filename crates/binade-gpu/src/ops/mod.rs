//! Operations, named as in `binade-ops`, for every driver that has their kernels.
//!
//! An operation on one operand, a product and a sum of all elements is its row in the table of operations and its kernels, which
//! have the names of its methods. Any other has a file. A function has the arguments of its trait's method, checks them by the rules that all devices share, allocates the result, and
//! launches a kernel by its name. None waits for the device. [`implement_ops!`](binade_ops::implement_ops) makes the traits of
//! them.

mod channels;
mod gemm;
mod pointwise;
mod rows;
mod total;

pub use batch_norm::{BatchNormKernels, NormCall};
pub use channels::{ChannelKernels, Channels};
pub use conv2d::{Conv2dKernels, Geometry, Layer};
pub use cross_entropy::CrossEntropyKernels;
pub use embedding::EmbeddingKernels;
pub use gemm::{Gemm, GemmKernels, Matrices};
pub use layer_norm::{LayerNormKernels, NormBackward};
pub use max_pool2d::MaxPool2dKernels;
pub use pointwise::PointwiseKernels;
pub use rows::RowKernels;
pub use total::{Total, TotalKernels};

use crate::{Driver, Result, Tensor};
use binade_core::{Op, OpClass, TensorSpec};
use binade_ops::OpInvocation;

macro_rules! operations {
    ({} $($trait:ident $name:ident $methods:tt)*) => {
        $(operations!(@row $trait $name $methods);)*
    };
    (@row $trait:ident $name:ident {
        $f:ident $forward:ident(input) -> Tensor;
        $b:ident $backward:ident(grad, $saved:ident) -> Tensor;
    }) => {
        pub mod $name {
            use super::{PointwiseKernels, RowKernels, unary};
            use crate::{Result, Tensor};
            use binade_core::Op;
            use binade_ops::OpInvocation;

            const OP: Op = Op::named(stringify!($name)).expect("every row has an `Op`");

            pub fn $forward<D: PointwiseKernels + RowKernels>(
                device: &D,
                input: &Tensor<D>,
            ) -> Result<Tensor<D>, D> {
                unary(device, OP, &OpInvocation::$f, &[input])
            }

            pub fn $backward<D: PointwiseKernels + RowKernels>(
                device: &D,
                grad: &Tensor<D>,
                $saved: &Tensor<D>,
            ) -> Result<Tensor<D>, D> {
                unary(device, OP, &OpInvocation::$b, &[grad, $saved])
            }
        }
    };
    (@row $trait:ident $name:ident {
        $f:ident $forward:ident(input) -> Tensor;
        $b:ident $backward:ident(grad) { shape: [usize], dtype: DType } -> Tensor;
    }) => {
        pub mod $name {
            use super::{Total, TotalKernels, total};
            use crate::{Result, Tensor};
            use binade_core::DType;
            use binade_ops::OpInvocation;

            pub fn $forward<D: TotalKernels>(
                device: &D,
                input: &Tensor<D>,
            ) -> Result<Tensor<D>, D> {
                total::total(device, Total::$trait, &OpInvocation::$f, &[input])
            }

            pub fn $backward<D: TotalKernels>(
                device: &D,
                grad: &Tensor<D>,
                shape: &[usize],
                dtype: DType,
            ) -> Result<Tensor<D>, D> {
                let call = OpInvocation::$b { shape: shape.to_vec(), dtype };
                total::spread(device, Total::$trait, &call, grad)
            }
        }
    };
    (@row $trait:ident $name:ident {
        $f:ident $forward:ident(a, b) -> Tensor;
        $b:ident $backward:ident(grad, a, b) -> Pair;
    }) => {
        pub mod $name {
            use super::{GemmKernels, PointwiseKernels, product, product_grads};
            use crate::{Result, Tensor};
            use binade_ops::OpInvocation;

            pub fn $forward<D: GemmKernels + PointwiseKernels>(
                device: &D,
                a: &Tensor<D>,
                b: &Tensor<D>,
            ) -> Result<Tensor<D>, D> {
                product(device, &OpInvocation::$f, a, b)
            }

            pub fn $backward<D: GemmKernels + PointwiseKernels>(
                device: &D,
                grad: &Tensor<D>,
                a: &Tensor<D>,
                b: &Tensor<D>,
            ) -> Result<[Tensor<D>; 2], D> {
                product_grads(device, &OpInvocation::$b, [grad, a, b])
            }
        }
    };
    (@row $trait:ident $name:ident $methods:tt) => { pub mod $name; };
}

binade_ops::for_each_op!([operations]);

/// Applies the kernel of an operation on one operand, or of its gradient.
fn unary<D: PointwiseKernels + RowKernels>(
    device: &D,
    op: Op,
    call: &OpInvocation,
    operands: &[&Tensor<D>],
) -> Result<Tensor<D>, D> {
    if op.class() == OpClass::Softmax {
        return rows::by_row(device, call, operands);
    }
    pointwise::pointwise(device, call, operands)
}

/// Multiplies element by element, or each pair of matrices.
fn product<D: GemmKernels + PointwiseKernels>(
    device: &D,
    call: &OpInvocation,
    a: &Tensor<D>,
    b: &Tensor<D>,
) -> Result<Tensor<D>, D> {
    if *call == OpInvocation::Mul {
        return pointwise::pointwise(device, call, &[a, b]);
    }
    gemm::products(device, call, a, b)
}

fn product_grads<D: GemmKernels + PointwiseKernels>(
    device: &D,
    call: &OpInvocation,
    [grad, a, b]: [&Tensor<D>; 3],
) -> Result<[Tensor<D>; 2], D> {
    if *call == OpInvocation::MulBackward {
        let towards = |other| product(device, &OpInvocation::Mul, grad, other);
        return Ok([towards(b)?, towards(a)?]);
    }
    gemm::product_grads(device, call, [grad, a, b])
}

/// Checks that the operands fit the method and are this device's, and returns the type and shape of the first result.
fn check<D: Driver>(
    device: &D,
    call: &OpInvocation,
    operands: &[&Tensor<D>],
) -> Result<TensorSpec, D> {
    let specs: Vec<_> = operands.iter().map(|it| (it.dtype(), it.shape())).collect();
    let result = call.check(&specs)?;
    device.check_owners(operands)?;
    Ok(result)
}
