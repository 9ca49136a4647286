//! The cases, by operation: which inputs, and which contract each checks.

mod accumulate;
mod adam;
mod bits;
mod cast;
mod clip;
mod clip_groups;
mod delayed;
mod follow;
mod iterate;
mod kahan;
mod matmul;
mod mean;
mod merge;
mod norm;
mod remainder;
mod scale;
mod scale_update;
mod scaled_f16;
mod sgd;
mod sparse;
mod steps;
mod stochastic;
mod stochastic_cast;
mod stores;
mod sum;
mod training;
mod unscale;
mod update_each;
mod values;

use crate::{Arithmetic, Case, Failure, Refusal, Stop, Stored, Subject, Suite};
use binade_core::DType;

/// The element types that arithmetic happens on, in the order of every list.
const FLOATS: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

/// Lengths around the edges of vectors, blocks and chunks: 1024 elements are a chunk on the CPU, 4096 on CUDA.
const LENGTHS: [usize; 16] =
    [0, 1, 7, 8, 9, 31, 32, 33, 255, 256, 257, 1024, 1025, 4095, 4096, 4097];

/// Lengths around the edges of launches, for a few cases of each operation.
const LONG: [usize; 3] = [65535, 65536, 65537];

/// Element types without arithmetic: storage, and the ends of casts.
const EIGHT_BITS: [DType; 2] = [DType::E4M3, DType::E5M2];

/// Every case for a subject of this arithmetic.
pub fn all<S: Subject>(arithmetic: Arithmetic) -> Vec<Case<S>> {
    let mut suite = Suite::new(arithmetic);
    bits::add(&mut suite);
    cast::add(&mut suite);
    stochastic_cast::add(&mut suite);
    scale::add(&mut suite);
    unscale::add(&mut suite);
    norm::add(&mut suite);
    clip::add(&mut suite);
    clip_groups::add(&mut suite);
    accumulate::add(&mut suite);
    merge::add(&mut suite);
    iterate::add(&mut suite);
    scale_update::add(&mut suite);
    sgd::add(&mut suite);
    adam::add(&mut suite);
    remainder::add(&mut suite);
    stochastic::add(&mut suite);
    kahan::add(&mut suite);
    scaled_f16::add(&mut suite);
    matmul::add(&mut suite);
    sum::add(&mut suite);
    mean::add(&mut suite);
    sparse::add(&mut suite);
    delayed::add(&mut suite);
    follow::add(&mut suite);
    update_each::add(&mut suite);
    suite.cases
}

/// A tensor on the subject's side.
fn put<S: Subject>(subject: &S, tensor: &Stored) -> Result<S::Tensor, Refusal> {
    subject.from_bits(&tensor.bytes, tensor.dtype, &tensor.shape)
}

/// A tensor on the subject's side that begins `offset` elements into a buffer.
fn put_at<S: Subject>(subject: &S, tensor: &Stored, offset: usize) -> Result<S::Tensor, Refusal> {
    subject.at_offset(&tensor.bytes, tensor.dtype, &tensor.shape, offset)
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
