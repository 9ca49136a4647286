//! Rules of operands' element types, and of gradients.

use crate::cast::{self, OnOverflow};
use crate::ops::{DTypeError, OperandError, ShapeError, shape};
use crate::{DType, Op};

/// Element type and shape of an operand.
pub(crate) type Operand<'a> = (DType, &'a [usize]);

/// Returns the element type that all operands have: bf16, f16 or f32.
pub(crate) fn float(op: Op, operands: &[Operand<'_>]) -> Result<DType, OperandError> {
    match operands {
        [(first, _), rest @ ..] if is_float(*first) && rest.iter().all(|it| it.0 == *first) => {
            Ok(*first)
        }
        _ => Err(mismatch(op, operands, "one of bf16, f16, f32, the same for all")),
    }
}

/// Returns the element type of a normalised input, whose parameters have it too or are f32.
pub(crate) fn norm(
    op: Op,
    input: Operand<'_>,
    parameters: &[Operand<'_>],
) -> Result<DType, OperandError> {
    let (of_input, of_parameters) = (float(op, &[input])?, float(op, parameters)?);
    if of_parameters == of_input || of_parameters == DType::F32 {
        return Ok(of_input);
    }
    let found = [&[input], parameters].concat();
    Err(mismatch(op, &found, "parameters of the input's type, or f32"))
}

/// Returns shape and element type of attention's output. The mask may have the operands' type or f32.
pub(crate) fn attention(
    op: Op,
    operands: [Operand<'_>; 3],
    mask: Option<&Operand<'_>>,
) -> Result<(Vec<usize>, DType), OperandError> {
    let [query, key, value] = operands.map(|(_, shape)| shape);
    let shape = shape::attention(query, key, value, mask.map(|(_, shape)| *shape))?;
    let dtype = float(op, &operands)?;
    match mask {
        Some(mask) if mask.0 != dtype && mask.0 != DType::F32 => {
            let found = [&operands[..], &[*mask]].concat();
            Err(mismatch(op, &found, "a mask of the query's type, or f32"))
        }
        _ => Ok((shape, dtype)),
    }
}

/// Checks that `results` are attention's: the output of this element type and shape, and two f32 statistics of each of its rows.
pub(crate) fn attention_results(
    op: Op,
    results @ [output, statistics]: [Operand<'_>; 2],
    (dtype, shape): Operand<'_>,
) -> Result<(), OperandError> {
    shape::check_same(op, output.1, shape)?;
    shape::check_same(op, statistics.1, &[&shape[..shape.len() - 1], &[2]].concat())?;
    if (output.0, statistics.0) == (dtype, DType::F32) {
        return Ok(());
    }
    Err(mismatch(op, &results, "an output of the query's type, and statistics of f32"))
}

/// Returns the element type of `values`, which are picked or masked by i64 `integers`: labels, indices or a key.
pub(crate) fn indexed(
    op: Op,
    values: Operand<'_>,
    integers: Operand<'_>,
) -> Result<DType, OperandError> {
    let dtype = float(op, &[values])?;
    if integers.0 == DType::I64 { Ok(dtype) } else { Err(mismatch(op, &[integers], "i64")) }
}

/// Returns the element type of `values`, beside f32 `tables`.
pub(crate) fn with_f32(
    op: Op,
    values: Operand<'_>,
    tables: &[Operand<'_>],
) -> Result<DType, OperandError> {
    let dtype = float(op, &[values])?;
    if tables.iter().all(|table| table.0 == DType::F32) {
        return Ok(dtype);
    }
    Err(mismatch(op, tables, "tables of f32"))
}

/// Returns the element type of `values`, whose mask has any floating-point type.
pub(crate) fn masked(
    op: Op,
    values: Operand<'_>,
    mask: Operand<'_>,
) -> Result<DType, OperandError> {
    float(op, &[mask])?;
    float(op, &[values])
}

/// Checks that a finite value stays finite in the operand's element type.
pub(crate) fn check_value(
    op: Op,
    value: f32,
    (dtype, shape): Operand<'_>,
) -> Result<(), OperandError> {
    let stored = cast::round(value, dtype, OnOverflow::NonFinite).unwrap_or(value);
    if stored.is_finite() || !value.is_finite() {
        return Ok(());
    }
    let expected = "a value in the type's range, up to 65504 in f16, or an infinity";
    Err(ShapeError::argument(op, format!("value {value:e} in {dtype}"), &[shape], expected).into())
}

/// Checks that statistics of a batch normalisation are f32.
pub(crate) fn all_f32(op: Op, operands: &[Operand<'_>]) -> Result<(), OperandError> {
    if operands.iter().all(|(dtype, _)| *dtype == DType::F32) {
        return Ok(());
    }
    Err(mismatch(op, operands, "statistics of f32"))
}

/// Checks that a gradient has the element type and shape of its value.
pub(crate) fn grad(op: Op, grad: Operand<'_>, value: Operand<'_>) -> Result<(), OperandError> {
    if value.1.is_empty() {
        return scalar_grad(op, grad);
    }
    shape::check_same(op, grad.1, value.1)?;
    if grad.0 == value.0 {
        return Ok(());
    }
    Err(mismatch(op, &[grad, value], "a gradient of the result's type"))
}

/// Checks that the gradient of a scalar is an f32 scalar, for operands of any type.
fn scalar_grad(op: Op, grad: Operand<'_>) -> Result<(), OperandError> {
    shape::check_scalar(op, grad.1)?;
    if grad.0 == DType::F32 {
        return Ok(());
    }
    Err(mismatch(op, &[grad], "an f32 gradient, as the scalar is f32"))
}

fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::BF16 | DType::F16 | DType::F32)
}

fn mismatch(op: Op, operands: &[Operand<'_>], expected: &'static str) -> OperandError {
    let found = operands.iter().map(|(dtype, _)| *dtype).collect();
    DTypeError { op: op.name(), found, expected }.into()
}
