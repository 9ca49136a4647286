//! The cases, by operation: which inputs, and which contract each checks.
//!
//! The file of an operation also holds its agreement and its oracle: the meaning of the operation, one element at a time, one
//! screen, independent of everything that it judges. Speed is no concern of an oracle, and neither is sharing code: it is right
//! because it can be read beside its definition.

mod accumulate;
mod adam;
mod add;
mod ask;
mod batch_norm;
mod bias_add;
mod bits;
mod bmm;
pub(crate) mod cast;
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

use crate::{
    Agreement, Arithmetic, Case, Cases, Failure, Layout, Operation, Refusal, Stop, Stored, Subject,
};
#[doc(hidden)]
pub use gelu::distribution;

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

/// Operations on parts of an iteration.
fn steps_and_scales<S: Subject>() -> [Adds<Cases<S>>; 18] {
    [
        (Operation::Bits, bits::add_cases),
        (Operation::Cast, cast::add_cases),
        (Operation::StochasticCast, stochastic_cast::add_cases),
        (Operation::Scale, scale::add_cases),
        (Operation::Unscale, unscale::add_cases),
        (Operation::Norm, norm::add_cases),
        (Operation::Clip, clip::add_cases),
        (Operation::ClipGroups, clip_groups::add_cases),
        (Operation::Accumulate, accumulate::add_cases),
        (Operation::Merge, merge::add_cases),
        (Operation::Iterate, iterate::add_cases),
        (Operation::ScaleUpdate, scale_update::add_cases),
        (Operation::Sgd, sgd::add_cases),
        (Operation::Adam, adam::add_cases),
        (Operation::Remainder, remainder::add_cases),
        (Operation::Stochastic, stochastic::add_cases),
        (Operation::Kahan, kahan::add_cases),
        (Operation::ScaledF16, scaled_f16::add_cases),
    ]
}

/// The operations of `binade-ops`.
const OPS: [Adds<Asks>; 24] = [
    (Operation::MatMul, matmul::add_cases),
    (Operation::Sum, sum::add_cases),
    (Operation::Mean, mean::add_cases),
    (Operation::Fill, fill::add_cases),
    (Operation::Reshape, reshape::add_cases),
    (Operation::Relu, relu::add_cases),
    (Operation::Gelu, gelu::add_cases),
    (Operation::Tanh, tanh::add_cases),
    (Operation::Add, add::add_cases),
    (Operation::Mul, mul::add_cases),
    (Operation::BiasAdd, bias_add::add_cases),
    (Operation::Linear, linear::add_cases),
    (Operation::LinearRelu, linear_relu::add_cases),
    (Operation::Bmm, bmm::add_cases),
    (Operation::Conv2d, conv2d::add_cases),
    (Operation::MaxPool2d, max_pool2d::add_cases),
    (Operation::LayerNorm, layer_norm::add_cases),
    (Operation::BatchNorm, batch_norm::add_cases),
    (Operation::Softmax, softmax::add_cases),
    (Operation::LogSoftmax, log_softmax::add_cases),
    (Operation::CrossEntropy, cross_entropy::add_cases),
    (Operation::MseLoss, mse_loss::add_cases),
    (Operation::Embedding, embedding::add_cases),
    (Operation::Dropout, dropout::add_cases),
];

/// Operations that run whole iterations by a scaler, and whole runs.
fn whole_iterations<S: Subject>() -> [Adds<Cases<S>>; 5] {
    [
        (Operation::Sparse, sparse::add_cases),
        (Operation::Delayed, delayed::add_cases),
        (Operation::Follow, follow::add_cases),
        (Operation::UpdateEach, update_each::add_cases),
        (Operation::Convergence, convergence::add_cases),
    ]
}

/// Returns how near results of `operation` must come from a subject of this arithmetic.
pub(crate) const fn agreement(operation: Operation, arithmetic: Arithmetic) -> Agreement {
    match operation {
        Operation::Bits => bits::agreement(arithmetic),
        Operation::Cast => cast::agreement(arithmetic),
        Operation::StochasticCast => stochastic_cast::agreement(arithmetic),
        Operation::Scale => scale::agreement(arithmetic),
        Operation::Unscale => unscale::agreement(arithmetic),
        Operation::Norm => norm::agreement(arithmetic),
        Operation::Clip => clip::agreement(arithmetic),
        Operation::ClipGroups => clip_groups::agreement(arithmetic),
        Operation::Accumulate => accumulate::agreement(arithmetic),
        Operation::Merge => merge::agreement(arithmetic),
        Operation::Iterate => iterate::agreement(arithmetic),
        Operation::ScaleUpdate => scale_update::agreement(arithmetic),
        Operation::Sgd => sgd::agreement(arithmetic),
        Operation::Adam => adam::agreement(arithmetic),
        Operation::Remainder => remainder::agreement(arithmetic),
        Operation::Stochastic => stochastic::agreement(arithmetic),
        Operation::Kahan => kahan::agreement(arithmetic),
        Operation::ScaledF16 => scaled_f16::agreement(arithmetic),
        Operation::MatMul => matmul::agreement(arithmetic),
        Operation::Sum => sum::agreement(arithmetic),
        Operation::Mean => mean::agreement(arithmetic),
        Operation::Fill => fill::agreement(arithmetic),
        Operation::Reshape => reshape::agreement(arithmetic),
        Operation::Relu => relu::agreement(arithmetic),
        Operation::Gelu => gelu::agreement(arithmetic),
        Operation::Tanh => tanh::agreement(arithmetic),
        Operation::Add => add::agreement(arithmetic),
        Operation::Mul => mul::agreement(arithmetic),
        Operation::BiasAdd => bias_add::agreement(arithmetic),
        Operation::Linear => linear::agreement(arithmetic),
        Operation::LinearRelu => linear_relu::agreement(arithmetic),
        Operation::Bmm => bmm::agreement(arithmetic),
        Operation::Conv2d => conv2d::agreement(arithmetic),
        Operation::MaxPool2d => max_pool2d::agreement(arithmetic),
        Operation::LayerNorm => layer_norm::agreement(arithmetic),
        Operation::BatchNorm => batch_norm::agreement(arithmetic),
        Operation::Softmax => softmax::agreement(arithmetic),
        Operation::LogSoftmax => log_softmax::agreement(arithmetic),
        Operation::CrossEntropy => cross_entropy::agreement(arithmetic),
        Operation::MseLoss => mse_loss::agreement(arithmetic),
        Operation::Embedding => embedding::agreement(arithmetic),
        Operation::Dropout => dropout::agreement(arithmetic),
        Operation::Sparse => sparse::agreement(arithmetic),
        Operation::Delayed => delayed::agreement(arithmetic),
        Operation::Follow => follow::agreement(arithmetic),
        Operation::UpdateEach => update_each::agreement(arithmetic),
        Operation::Convergence => convergence::agreement(arithmetic),
    }
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
