//! Checks of operands' element types: one rule for all backends.
//!
//! They need no elements, so that a device which runs later refuses at once, with the words of all others.

use crate::{ShapeError, shape};
use binade_core::{DType, Error, ErrorKind, Op};

/// Error of element types that do not fit.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{op}: found {}; expected {expected}: cast them first, or let autocast", list(found))]
pub struct DTypeError {
    /// Name of the operation.
    pub op: &'static str,
    /// Element types of the operands, in order.
    pub found: Vec<DType>,
    /// Types that would have fitted.
    pub expected: &'static str,
}

/// Error of operands that do not fit.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum OperandError {
    /// Shapes that do not fit.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// Element types that do not fit.
    #[error(transparent)]
    DType(#[from] DTypeError),
}

impl Error for DTypeError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Mismatch
    }
}

impl Error for OperandError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Shape(error) => error.kind(),
            Self::DType(error) => error.kind(),
        }
    }
}

/// Returns the element type that all operands have: bf16, f16 or f32.
///
/// # Errors
///
/// If they have none of these, or not the same.
pub fn float(
    op: Op,
    dtypes: impl IntoIterator<Item = DType, IntoIter: Clone>,
) -> Result<DType, OperandError> {
    let dtypes = dtypes.into_iter();
    let mut rest = dtypes.clone();
    match rest.next() {
        Some(first) if is_float(first) && rest.all(|dtype| dtype == first) => Ok(first),
        _ => Err(mismatch(op, dtypes, "one of bf16, f16, f32, the same for all")),
    }
}

/// Returns the element types of a normalised input and of its parameters: the input's, or f32.
///
/// # Errors
///
/// If they are others.
pub fn norm(
    op: Op,
    input: DType,
    parameters: impl IntoIterator<Item = DType, IntoIter: Clone>,
) -> Result<(DType, DType), OperandError> {
    let parameters = parameters.into_iter();
    let (of_input, of_parameters) = (float(op, [input])?, float(op, parameters.clone())?);
    if of_parameters == of_input || of_parameters == DType::F32 {
        return Ok((of_input, of_parameters));
    }
    let found = [input].into_iter().chain(parameters);
    Err(mismatch(op, found, "parameters of the input's type, or f32"))
}

/// Checks that labels or indices are i64.
///
/// # Errors
///
/// If they are anything else.
pub fn integers(op: Op, dtype: DType) -> Result<(), OperandError> {
    if dtype == DType::I64 { Ok(()) } else { Err(mismatch(op, [dtype], "i64")) }
}

/// Checks that running statistics are f32.
///
/// # Errors
///
/// If one is anything else.
pub fn all_f32(
    op: Op,
    dtypes: impl IntoIterator<Item = DType, IntoIter: Clone>,
) -> Result<(), OperandError> {
    let dtypes = dtypes.into_iter();
    let are = dtypes.clone().all(|dtype| dtype == DType::F32);
    if are { Ok(()) } else { Err(mismatch(op, dtypes, "running statistics of f32")) }
}

/// Checks that the gradient of a scalar is an f32 scalar, as scalars are for all operands.
///
/// # Errors
///
/// If it is anything else.
pub fn scalar_grad(op: Op, (dtype, shape): (DType, &[usize])) -> Result<(), OperandError> {
    shape::scalar(op, shape)?;
    let error = || mismatch(op, [dtype], "an f32 gradient, as the scalar is f32");
    if dtype == DType::F32 { Ok(()) } else { Err(error()) }
}

/// Checks that a gradient has the shape and element type of its value.
///
/// # Errors
///
/// If it has others.
pub fn grad(
    op: Op,
    (found, of_grad): (DType, &[usize]),
    shape: &[usize],
    dtype: DType,
) -> Result<(), OperandError> {
    shape::same(op, of_grad, shape)?;
    if found == dtype {
        return Ok(());
    }
    Err(mismatch(op, [found, dtype], "a gradient of the result's type"))
}

fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::BF16 | DType::F16 | DType::F32)
}

fn mismatch(
    op: Op,
    found: impl IntoIterator<Item = DType>,
    expected: &'static str,
) -> OperandError {
    DTypeError { op: op.name(), found: found.into_iter().collect(), expected }.into()
}

/// Returns the types as text: `bf16, f32`.
fn list(dtypes: &[DType]) -> String {
    let names: Vec<&str> = dtypes.iter().map(|dtype| dtype.name()).collect();
    names.join(", ")
}
