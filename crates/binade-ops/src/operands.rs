//! Checks of operands' element types: one rule for all backends.
//!
//! They need no elements, so that a device which runs later refuses at once, with the words of all others.

use crate::{ShapeError, shape};
use binade_core::{DType, Error, ErrorKind, Op};

/// Tensor whose type and shape are known without its elements.
///
/// # For implementers
///
/// * Host knowledge: asking never waits for the device, and a result has type and shape before it is computed.
/// * A scalar has the empty shape.
pub trait Operand {
    /// Returns the element type.
    fn dtype(&self) -> DType;

    /// Returns the extent of each axis, slowest first.
    fn shape(&self) -> &[usize];
}

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

/// Returns the element type that all of `operands` have: bf16, f16 or f32.
///
/// # Errors
///
/// If they have none of these, or not the same.
pub fn float<T: Operand>(op: Op, operands: &[&T]) -> Result<DType, OperandError> {
    match operands {
        [first, rest @ ..]
            if is_float(first.dtype()) && rest.iter().all(|it| it.dtype() == first.dtype()) =>
        {
            Ok(first.dtype())
        }
        _ => Err(mismatch(op, operands, "one of bf16, f16, f32, the same for all")),
    }
}

/// Returns the element types of a normalised input and of its parameters: the input's, or f32.
///
/// # Errors
///
/// If they are others.
pub fn norm<T: Operand>(
    op: Op,
    input: &T,
    parameters: &[&T],
) -> Result<(DType, DType), OperandError> {
    let (of_input, of_parameters) = (float(op, &[input])?, float(op, parameters)?);
    if of_parameters == of_input || of_parameters == DType::F32 {
        return Ok((of_input, of_parameters));
    }
    let found = [&[input], parameters].concat();
    Err(mismatch(op, &found, "parameters of the input's type, or f32"))
}

/// Checks that labels or indices are i64.
///
/// # Errors
///
/// If they are anything else.
pub fn integers<T: Operand>(op: Op, operand: &T) -> Result<(), OperandError> {
    let is = operand.dtype() == DType::I64;
    if is { Ok(()) } else { Err(mismatch(op, &[operand], "i64")) }
}

/// Checks that running statistics are f32.
///
/// # Errors
///
/// If one is anything else.
pub fn all_f32<T: Operand>(op: Op, operands: &[&T]) -> Result<(), OperandError> {
    let are = operands.iter().all(|operand| operand.dtype() == DType::F32);
    if are { Ok(()) } else { Err(mismatch(op, operands, "running statistics of f32")) }
}

/// Checks that the gradient of a scalar is an f32 scalar, as scalars are for all operands.
///
/// # Errors
///
/// If it is anything else.
pub fn scalar_grad<T: Operand>(op: Op, grad: &T) -> Result<(), OperandError> {
    shape::scalar(op, grad.shape())?;
    let is = grad.dtype() == DType::F32;
    let error = || mismatch(op, &[grad], "an f32 gradient, as the scalar is f32");
    if is { Ok(()) } else { Err(error()) }
}

/// Checks that a gradient has the shape and element type of its value.
///
/// # Errors
///
/// If it has others.
pub fn grad<T: Operand>(
    op: Op,
    grad: &T,
    shape: &[usize],
    dtype: DType,
) -> Result<(), OperandError> {
    shape::same(op, grad.shape(), shape)?;
    if grad.dtype() == dtype {
        return Ok(());
    }
    let (found, expected) = (vec![grad.dtype(), dtype], "a gradient of the result's type");
    Err(DTypeError { op: op.name(), found, expected }.into())
}

fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::BF16 | DType::F16 | DType::F32)
}

fn mismatch<T: Operand>(op: Op, operands: &[&T], expected: &'static str) -> OperandError {
    let found = operands.iter().map(|operand| operand.dtype()).collect();
    DTypeError { op: op.name(), found, expected }.into()
}

/// Returns the types as text: `bf16, f32`.
fn list(dtypes: &[DType]) -> String {
    let names: Vec<&str> = dtypes.iter().map(|dtype| dtype.name()).collect();
    names.join(", ")
}
