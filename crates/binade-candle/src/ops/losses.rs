//! Losses.

use super::labels::below;
use super::wide::wide;
use crate::{Candle, Error};
use binade_autocast::Scope;
use binade_core::Op;
use candle_core::{Error as CandleError, Result as CandleResult, Tensor};

/// Returns the mean of squared differences, a scalar.
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

/// Returns the mean negative log-likelihood of class labels (integers, one a row) from logits, a scalar; NaN if there is no row.
///
/// # Errors
///
/// See the [module](super). On the CPU also if a label is no class.
pub fn cross_entropy(
    scope: &Scope<'_, Candle>,
    path: &str,
    logits: &Tensor,
    labels: &Tensor,
) -> Result<Tensor, Error> {
    wide(scope, Op::CROSS_ENTROPY, path, [logits], |[x]| {
        let (rows, classes) = x.dims2()?;
        let labels = below(classes, labels, "cross_entropy")?;
        one_a_row(&labels, rows)?;
        if rows == 0 {
            return x.sum_all()?.affine(f64::NAN, 0.0);
        }
        candle_nn::loss::cross_entropy(&x, &labels)
    })
}

fn one_a_row(labels: &Tensor, rows: usize) -> CandleResult<()> {
    if labels.dims() == [rows] {
        return Ok(());
    }
    let (msg, got) = ("labels are one a row of the logits".to_owned(), labels.shape().clone());
    Err(CandleError::UnexpectedShape { msg, expected: rows.into(), got })
}
