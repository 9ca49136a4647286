//! Names that nearly every file of cases needs.

pub(super) use super::op::{
    HUGE, OpCases, OpRun, Softmaxes, binary, drawn, i64s, labels, mismatches, ones, refusals,
    scalar, too_large, unary, uniform, values,
};
pub(super) use super::values::*;
pub(super) use super::{EIGHT_BITS, FLOATS, LENGTHS, LONG, SHORT, get, put};
pub(super) use crate::agreement::count;
pub(super) use crate::{
    Agreement, Backend, CaseError, Cases, Check, Expected, Layout, OpInvocation, Stored,
    SubjectError, Tensor, Verdict,
};
pub(super) use binade_core::{DType, ErrorKind, FoundInf, Named, NamedGrads};
