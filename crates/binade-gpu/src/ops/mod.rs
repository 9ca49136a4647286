//! Operations, named as in `binade_core::ops`, for every driver that has their kernels.
//!
//! Operations on one operand, products and sums of all elements need only a row in the table of operations and kernels with the names of their
//! methods. Every other operation has a file, with its trait of `binade_core::ops` for [`Gpu`]. A method checks its operands by the rules that all
//! devices share, allocates the result, and launches a kernel by its name. None waits for the device.

mod channels;
mod gemm;
mod pointwise;
mod rows;
mod total;

pub use avg_pool2d::{AvgPool2dKernels, PoolingBits};
pub use batch_norm::{BatchNormKernels, NormCall, NormStep};
pub use channels::{ChannelKernels, Channels};
pub use conv2d::{Conv2dKernels, Geometry, Layer};
pub use cross_entropy::CrossEntropyKernels;
pub use embedding::EmbeddingKernels;
pub use gemm::{Gemm, GemmKernels, Matrices};
pub use group_norm::{ChannelGroups, GroupNormKernels};
pub use layer_norm::{LayerNormKernels, NormBackward};
pub use masked_fill::MaskedFillKernels;
pub use max_pool2d::MaxPool2dKernels;
pub use narrow::NarrowKernels;
pub use permute::PermuteKernels;
pub use pointwise::PointwiseKernels;
pub use rms_norm::RmsNormKernels;
pub use rotary_embedding::RotaryEmbeddingKernels;
pub use rows::RowKernels;
pub use scaled_dot_product_attention::{Attention, AttentionKernels};
pub use total::{Total, TotalKernels};

use crate::{Driver, Gpu, Result, Tensor};
use binade_core::ops::OpInvocation;
use binade_core::{DType, Op, OpClass, TensorSpec};

macro_rules! operations {
    ({} $($trait:ident $name:ident $methods:tt)*) => {
        $(operations!(@row $trait $name $methods);)*
    };
    (@row $trait:ident $name:ident {
        $f:ident $forward:ident(input) -> Tensor;
        $b:ident $backward:ident(grad, $saved:ident) -> Tensor;
    }) => {
        impl<D: PointwiseKernels + RowKernels> binade_core::ops::$trait for Gpu<'_, D> {
            fn $forward(&self, input: &Tensor<D>) -> Result<Tensor<D>, D> {
                unary(self.0, operations!(@op $name), &OpInvocation::$f, &[input])
            }

            fn $backward(&self, grad: &Tensor<D>, $saved: &Tensor<D>) -> Result<Tensor<D>, D> {
                unary(self.0, operations!(@op $name), &OpInvocation::$b, &[grad, $saved])
            }
        }
    };
    (@row $trait:ident $name:ident {
        $f:ident $forward:ident(input) -> Tensor;
        $b:ident $backward:ident(grad) { shape: [usize], dtype: DType } -> Tensor;
    }) => {
        impl<D: TotalKernels> binade_core::ops::$trait for Gpu<'_, D> {
            fn $forward(&self, input: &Tensor<D>) -> Result<Tensor<D>, D> {
                total::total(self.0, Total::$trait, &OpInvocation::$f, &[input])
            }

            fn $backward(
                &self,
                grad: &Tensor<D>,
                shape: &[usize],
                dtype: DType,
            ) -> Result<Tensor<D>, D> {
                let call = OpInvocation::$b { shape: shape.to_vec(), dtype };
                total::spread(self.0, Total::$trait, &call, grad)
            }
        }
    };
    (@row $trait:ident $name:ident {
        $f:ident $forward:ident(a, b) -> Tensor;
        $b:ident $backward:ident(grad, a, b) -> Pair;
    }) => {
        impl<D: GemmKernels + PointwiseKernels> binade_core::ops::$trait for Gpu<'_, D> {
            fn $forward(&self, a: &Tensor<D>, b: &Tensor<D>) -> Result<Tensor<D>, D> {
                product(self.0, &OpInvocation::$f, a, b)
            }

            fn $backward(
                &self,
                grad: &Tensor<D>,
                a: &Tensor<D>,
                b: &Tensor<D>,
            ) -> Result<[Tensor<D>; 2], D> {
                product_grads(self.0, &OpInvocation::$b, [grad, a, b])
            }
        }
    };
    (@row $trait:ident $name:ident $methods:tt) => { mod $name; };
    (@op $name:ident) => {
        const { Op::named(stringify!($name)).expect("every row has an `Op`") }
    };
}

binade_core::ops::for_each_op!([operations]);

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

/// Combines two operands element by element, or multiplies each pair of matrices.
fn product<D: GemmKernels + PointwiseKernels>(
    device: &D,
    call: &OpInvocation,
    a: &Tensor<D>,
    b: &Tensor<D>,
) -> Result<Tensor<D>, D> {
    if matches!(call, OpInvocation::Mul | OpInvocation::Div) {
        return pointwise::pointwise(device, call, &[a, b]);
    }
    gemm::products(device, call, a, b)
}

fn product_grads<D: GemmKernels + PointwiseKernels>(
    device: &D,
    call: &OpInvocation,
    [grad, a, b]: [&Tensor<D>; 3],
) -> Result<[Tensor<D>; 2], D> {
    let each = |call, operands: &[&Tensor<D>]| pointwise::pointwise(device, &call, operands);
    match call {
        OpInvocation::MulBackward => {
            Ok([each(OpInvocation::Mul, &[grad, b])?, each(OpInvocation::Mul, &[grad, a])?])
        }
        OpInvocation::DivBackward => {
            let of_b = each(OpInvocation::DivBackward, &[grad, a, b])?;
            Ok([each(OpInvocation::Div, &[grad, b])?, of_b])
        }
        _ => gemm::product_grads(device, call, [grad, a, b]),
    }
}

/// Checks that the operands fit the method and belong to this device, and returns the type and shape of the first result.
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
