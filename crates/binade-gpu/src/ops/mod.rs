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

use crate::{Result, Tensor};
use binade_core::{Op, OpClass};
use binade_ops::shape;

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

            const OP: Op = Op::named(stringify!($name)).expect("every row has an `Op`");

            pub fn $forward<D: PointwiseKernels + RowKernels>(
                device: &D,
                input: &Tensor<D>,
            ) -> Result<Tensor<D>, D> {
                unary(device, OP, stringify!($forward), &[input])
            }

            pub fn $backward<D: PointwiseKernels + RowKernels>(
                device: &D,
                grad: &Tensor<D>,
                $saved: &Tensor<D>,
            ) -> Result<Tensor<D>, D> {
                unary(device, OP, stringify!($backward), &[grad, $saved])
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
            use binade_core::{DType, Op};

            const OP: Op = Op::named(stringify!($name)).expect("every row has an `Op`");

            pub fn $forward<D: TotalKernels>(
                device: &D,
                input: &Tensor<D>,
            ) -> Result<Tensor<D>, D> {
                binade_ops::operands::float(OP, [input.dtype()])?;
                total::total(device, Total::$trait, &[input])
            }

            pub fn $backward<D: TotalKernels>(
                device: &D,
                grad: &Tensor<D>,
                shape: &[usize],
                dtype: DType,
            ) -> Result<Tensor<D>, D> {
                total::spread(device, Total::$trait, OP, grad, (shape, dtype))
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
            use binade_core::Op;

            const OP: Op = Op::named(stringify!($name)).expect("every row has an `Op`");

            pub fn $forward<D: GemmKernels + PointwiseKernels>(
                device: &D,
                a: &Tensor<D>,
                b: &Tensor<D>,
            ) -> Result<Tensor<D>, D> {
                product(device, OP, a, b)
            }

            pub fn $backward<D: GemmKernels + PointwiseKernels>(
                device: &D,
                grad: &Tensor<D>,
                a: &Tensor<D>,
                b: &Tensor<D>,
            ) -> Result<[Tensor<D>; 2], D> {
                product_grads(device, OP, [grad, a, b])
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
    kernel: &'static str,
    operands: &[&Tensor<D>],
) -> Result<Tensor<D>, D> {
    match (op.class(), kernel) {
        (OpClass::Softmax, _) => rows::by_row(device, op, kernel, operands),
        // `tanh` alone is a function of C and of WGSL.
        (_, "tanh") => pointwise::pointwise(device, op, "tanh_forward", operands),
        _ => pointwise::pointwise(device, op, kernel, operands),
    }
}

/// Multiplies element by element, or each pair of matrices.
fn product<D: GemmKernels + PointwiseKernels>(
    device: &D,
    op: Op,
    a: &Tensor<D>,
    b: &Tensor<D>,
) -> Result<Tensor<D>, D> {
    if op == Op::MUL {
        return pointwise::pointwise(device, op, "mul", &[a, b]);
    }
    gemm::products(device, op, a, b, &product_shape::<D>(op, a, b)?)
}

fn product_grads<D: GemmKernels + PointwiseKernels>(
    device: &D,
    op: Op,
    [grad, a, b]: [&Tensor<D>; 3],
) -> Result<[Tensor<D>; 2], D> {
    if op == Op::MUL {
        return Ok([product(device, op, grad, b)?, product(device, op, grad, a)?]);
    }
    gemm::product_grads(device, op, [grad, a, b], &product_shape::<D>(op, a, b)?)
}

fn product_shape<D: GemmKernels>(op: Op, a: &Tensor<D>, b: &Tensor<D>) -> Result<Vec<usize>, D> {
    let of = if op == Op::MATMUL { shape::matmul } else { shape::bmm };
    Ok(of(a.shape(), b.shape())?)
}
