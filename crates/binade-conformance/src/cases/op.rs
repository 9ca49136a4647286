//! Cases of operations of `binade_core::ops`: one run of an operation, its operands, and the cases that several operations share.

mod cases;
mod elementwise;
mod run;
mod softmaxes;

pub(super) use cases::OpCases;
pub(super) use elementwise::{binary, unary};
pub(super) use run::OpRun;
pub(super) use softmaxes::Softmaxes;

use super::values::{Draw, shapes};
use crate::{OpInvocation, Stored};
use binade_core::{DType, ErrorKind};

/// Returns a tensor of values uniform in low..high, each rounded once. In `f16`, a seventh of them is 2^16 times smaller and mostly subnormal.
pub(super) fn uniform(seed: usize, dtype: DType, shape: &[usize], [low, high]: [f64; 2]) -> Stored {
    let mut draw = Draw::new(seed);
    let scale =
        |at: usize| if dtype == DType::F16 && at % 7 == 5 { 2.0_f64.powi(-16) } else { 1.0 };
    let values = (0..shape.iter().product()).map(|at| draw.within(low, high) * scale(at));
    Stored::from_values(dtype, shape, values.collect::<Vec<f64>>())
}

/// Returns an `i64` tensor: labels, indices or a key.
pub(super) fn i64s(shape: &[usize], values: impl IntoIterator<Item = i64>) -> Stored {
    Stored::from_codes(DType::I64, shape, values.into_iter().map(i64::cast_unsigned))
}

/// Returns a vector of labels or indices.
pub(super) fn labels(places: &[usize]) -> Stored {
    Stored::from_codes(DType::I64, &[places.len()], places.iter().map(|place| *place as u64))
}

/// Returns random indices below `limit`.
pub(super) fn drawn(count: usize, limit: usize) -> Vec<usize> {
    let mut draw = Draw::new(count + limit);
    (0..count).map(|_| usize::try_from(draw.bits() % limit as u64).unwrap_or_default()).collect()
}

/// An `f32` scalar.
pub(super) fn scalar(value: f64) -> Stored {
    Stored::from_values(DType::F32, &[], [value])
}

/// The elements as numbers.
pub(super) fn values(tensor: &Stored) -> Vec<f64> {
    tensor.values().collect()
}

/// Ones of this shape.
pub(super) fn ones(dtype: DType, shape: &[usize]) -> Stored {
    Stored::from_values(dtype, shape, vec![1.0; shape.iter().product()])
}

/// An extent so large that four times as many elements fit into no memory.
pub(super) const HUGE: usize = usize::MAX / 4;

/// Adds a case of calls with operands that the operation must refuse.
///
/// Operands are shapes separated by spaces, of `f32` unless a type comes first: `2x3 f16:3x4 i64:2 scalar`. Calls are separated by commas. Floats are
/// ones, and integers count from 0.
pub(super) fn refusals<'o>(
    cases: &mut OpCases,
    sentence: &str,
    kind: ErrorKind,
    all: impl IntoIterator<Item = (OpInvocation, &'o str)>,
) {
    let each = |(op, lists): (OpInvocation, &'o str)| {
        lists.split(',').map(move |list| (op.clone(), operands(list)))
    };
    let all: Vec<_> = all.into_iter().flat_map(each).collect();
    cases.add("-", sentence, move |run| {
        all.iter().try_for_each(|(op, operands)| {
            run.refused(op, &operands.iter().collect::<Vec<_>>(), kind)
        })
    });
}

fn operands(list: &str) -> Vec<Stored> {
    let one = |operand: &str| {
        let (dtype, shape) = operand.split_once(':').unwrap_or(("f32", operand));
        let shape: Vec<usize> = shapes(shape).flatten().collect();
        match dtype {
            "i64" => labels(&(0..shape.iter().product()).collect::<Vec<_>>()),
            "bf16" => ones(DType::BF16, &shape),
            "f16" => ones(DType::F16, &shape),
            _ => ones(DType::F32, &shape),
        }
    };
    list.split_whitespace().map(one).collect()
}

/// Adds the case of operands whose shapes or types do not fit each other.
pub(super) fn mismatches<'o>(
    cases: &mut OpCases,
    all: impl IntoIterator<Item = (OpInvocation, &'o str)>,
) {
    refusals(cases, "what_does_not_fit_is_a_mismatch", ErrorKind::Mismatch, all);
}

/// Adds a case of results larger than any memory, each of which must be refused.
pub(super) fn too_large<'o>(
    cases: &mut OpCases,
    all: impl IntoIterator<Item = (OpInvocation, &'o str)>,
) {
    let sentence = "a_result_larger_than_any_memory_is_an_invalid_argument";
    refusals(cases, sentence, ErrorKind::InvalidArgument, all);
}
