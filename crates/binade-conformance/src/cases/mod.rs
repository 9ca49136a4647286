//! The cases, by operation: which inputs, and which contract each checks.

mod accumulate;
mod adam;
mod add;
mod ask;
mod batch_norm;
mod bias_add;
mod bits;
mod bmm;
mod cast;
mod clip;
mod clip_groups;
mod conv2d;
mod convergence;
mod cross_entropy;
mod delayed;
mod dropout;
mod embedding;
mod fill;
mod follow;
mod gelu;
mod iterate;
mod kahan;
mod layer_norm;
mod linear;
mod linear_relu;
mod log_softmax;
mod matmul;
mod max_pool2d;
mod mean;
mod merge;
mod mse_loss;
mod mul;
mod norm;
mod relu;
mod remainder;
mod reshape;
mod scale;
mod scale_update;
mod scaled_f16;
mod sgd;
mod softmax;
mod sparse;
mod steps;
mod stochastic;
mod stochastic_cast;
mod stores;
mod sum;
mod tanh;
mod training;
mod unscale;
mod update_each;
mod values;

use crate::{Arithmetic, Case, Cases, Failure, Layout, Operation, Refusal, Stop, Stored, Subject};
use ask::Asks;
use binade_core::DType;

/// The element types that arithmetic happens on, in the order of every list.
const FLOATS: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

/// Lengths around the edges of vectors, blocks and chunks: 1024 elements are a chunk on the CPU, 4096 on CUDA.
const LENGTHS: [usize; 21] =
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 32, 33, 255, 256, 257, 1024, 1025, 4095, 4096, 4097];

/// Lengths around the edges of vectors, warps and blocks, for operations that have many cases each.
const SHORT: [usize; 17] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 32, 33, 255, 256, 257, 1025];

/// Lengths around the edges of launches, for a few cases of each operation.
const LONG: [usize; 3] = [65535, 65536, 65537];

/// Element types without arithmetic: storage, and the ends of casts.
const EIGHT_BITS: [DType; 2] = [DType::E4M3, DType::E5M2];

/// Every case for a subject of this arithmetic.
pub fn all<S: Subject>(arithmetic: Arithmetic) -> Vec<Case<S>> {
    of(arithmetic, |_| true)
}

/// The cases of these operations, in the order of all.
pub(crate) fn of<S: Subject>(
    arithmetic: Arithmetic,
    wants: impl Fn(Operation) -> bool,
) -> Vec<Case<S>> {
    let mut cases = Cases::new(arithmetic);
    let mut asks = Asks::default();
    for (operation, add) in steps_and_scales::<S>() {
        if wants(operation) {
            add(&mut cases);
        }
    }
    for (operation, add) in OPS {
        if wants(operation) {
            add(&mut asks);
        }
    }
    asks.put_to(&mut cases);
    for (operation, add) in whole_iterations::<S>() {
        if wants(operation) {
            add(&mut cases);
        }
    }
    cases.list
}

/// An operation, and what adds its cases.
type Adds<C> = (Operation, fn(&mut C));

/// What is below whole iterations.
fn steps_and_scales<S: Subject>() -> [Adds<Cases<S>>; 18] {
    [
        (Operation::Bits, bits::add),
        (Operation::Cast, cast::add),
        (Operation::StochasticCast, stochastic_cast::add),
        (Operation::Scale, scale::add),
        (Operation::Unscale, unscale::add),
        (Operation::Norm, norm::add),
        (Operation::Clip, clip::add),
        (Operation::ClipGroups, clip_groups::add),
        (Operation::Accumulate, accumulate::add),
        (Operation::Merge, merge::add),
        (Operation::Iterate, iterate::add),
        (Operation::ScaleUpdate, scale_update::add),
        (Operation::Sgd, sgd::add),
        (Operation::Adam, adam::add),
        (Operation::Remainder, remainder::add),
        (Operation::Stochastic, stochastic::add),
        (Operation::Kahan, kahan::add),
        (Operation::ScaledF16, scaled_f16::add),
    ]
}

/// The operations of `binade-ops`.
const OPS: [Adds<Asks>; 24] = [
    (Operation::MatMul, matmul::add),
    (Operation::Sum, sum::add),
    (Operation::Mean, mean::add),
    (Operation::Fill, fill::add),
    (Operation::Reshape, reshape::add),
    (Operation::Relu, relu::add),
    (Operation::Gelu, gelu::add),
    (Operation::Tanh, tanh::add),
    (Operation::Add, add::add),
    (Operation::Mul, mul::add),
    (Operation::BiasAdd, bias_add::add),
    (Operation::Linear, linear::add),
    (Operation::LinearRelu, linear_relu::add),
    (Operation::Bmm, bmm::add),
    (Operation::Conv2d, conv2d::add),
    (Operation::MaxPool2d, max_pool2d::add),
    (Operation::LayerNorm, layer_norm::add),
    (Operation::BatchNorm, batch_norm::add),
    (Operation::Softmax, softmax::add),
    (Operation::LogSoftmax, log_softmax::add),
    (Operation::CrossEntropy, cross_entropy::add),
    (Operation::MseLoss, mse_loss::add),
    (Operation::Embedding, embedding::add),
    (Operation::Dropout, dropout::add),
];

/// What takes a scaler, and what takes everything.
fn whole_iterations<S: Subject>() -> [Adds<Cases<S>>; 5] {
    [
        (Operation::Sparse, sparse::add),
        (Operation::Delayed, delayed::add),
        (Operation::Follow, follow::add),
        (Operation::UpdateEach, update_each::add),
        (Operation::Convergence, convergence::add),
    ]
}

/// A tensor on the subject's side.
fn put<S: Subject>(subject: &S, tensor: &Stored) -> Result<S::Tensor, Refusal> {
    subject.from_bits(&tensor.bytes, tensor.dtype, &tensor.shape)
}

/// A tensor on the subject's side as a view of this layout.
fn put_at<S: Subject>(subject: &S, tensor: &Stored, layout: Layout) -> Result<S::Tensor, Refusal> {
    subject.view(&tensor.bytes, tensor.dtype, &tensor.shape, layout)
}

/// A tensor of the subject's, which has to have this type and shape.
fn get<S: Subject>(
    subject: &S,
    tensor: &S::Tensor,
    dtype: DType,
    shape: &[usize],
) -> Result<Stored, Stop> {
    let bytes = subject.to_bits(tensor)?;
    let expected = dtype.bytes() * shape.iter().product::<usize>();
    if bytes.len() == expected {
        return Ok(Stored { dtype, shape: shape.to_vec(), bytes });
    }
    Err(Stop::Wrong(Failure {
        got: format!("{} bytes", bytes.len()),
        wanted: format!("{expected} bytes, being {dtype}{shape:?}"),
        ..Failure::default()
    }))
}
