//! Names that nearly every file of cases needs.

pub(super) use super::op::{
    HUGE, OpCases, OpRun, Softmaxes, binary, drawn, i64s, labels, mismatches, ones, refusals,
    scalar, too_large, unary, uniform, values,
};
pub(super) use super::values::*;
pub(super) use super::{Agrees, EIGHT_BITS, FLOATS, LENGTHS, LONG, SHORT, get, put, put_at};
pub(super) use crate::agreement::count;
pub(super) use crate::{
    Agreement, CaseError, Cases, Check, Expected, Layout, OpInvocation, Stored, Subject,
    SubjectError, TensorOf, Verdict,
};
pub(super) use binade_core::{DType, ErrorKind, FoundInf, Named, NamedGrads};
