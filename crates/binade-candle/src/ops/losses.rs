//! Losses, and what their labels have to be.

use super::wide::wide;
use crate::{Candle, Error};
use binade_autocast::Scope;
use binade_core::Op;
use candle_core::{DType, Error as CandleError, Result as CandleResult, Tensor};

/// The mean of squared differences, a scalar.
///
/// # Errors
///
/// See the [module](super).
pub fn mse_loss(
    scope: &Scope<'_, Candle>,
    path: &str,
    input: &Tensor,
    target: &Tensor,
) -> Result<Tensor, Error> {
    wide(scope, Op::MSE_LOSS, path, [input, target], |[x, y]| candle_nn::loss::mse(&x, &y))
}

/// The mean negative log-likelihood of class labels (integers, one a row) from logits, a scalar; NaN where there is no row.
///
/// # Errors
///
/// See the [module](super). On the CPU also where a label is no class.
pub fn cross_entropy(
    scope: &Scope<'_, Candle>,
    path: &str,
    logits: &Tensor,
    labels: &Tensor,
) -> Result<Tensor, Error> {
    wide(scope, Op::CROSS_ENTROPY, path, [logits], |[x]| {
        let (rows, classes) = x.dims2()?;
        check_labels(labels, rows, classes)?;
        if rows == 0 {
            return x.sum_all()?.affine(f64::NAN, 0.0);
        }
        // In the widest integers, whose largest is the one that candle leaves out: 255 is a class among 256.
        candle_nn::loss::cross_entropy(&x, &labels.to_dtype(DType::I64)?)
    })
}

/// An error where labels are no integers, not one a row, or, on the CPU, one is no class. candle itself looks there too, but takes
/// the largest integer for a label whose loss is 0; elsewhere looking would wait for the device.
fn check_labels(labels: &Tensor, rows: usize, classes: usize) -> CandleResult<()> {
    if !labels.dtype().is_int() {
        let (msg, got) = ("labels are integers", labels.dtype());
        return Err(CandleError::UnexpectedDType { msg, expected: DType::U32, got });
    }
    if labels.dims() != [rows] {
        let (msg, got) = ("labels are one a row of the logits".to_owned(), labels.shape().clone());
        return Err(CandleError::UnexpectedShape { msg, expected: rows.into(), got });
    }
    if !labels.device().is_cpu() || rows == 0 {
        return Ok(());
    }
    let largest = labels.to_dtype(DType::I64)?.max_all()?.to_scalar::<i64>()?;
    let index = usize::try_from(largest).unwrap_or_default();
    if index < classes {
        return Ok(());
    }
    Err(CandleError::InvalidIndex { op: "cross_entropy", index, size: classes })
}
