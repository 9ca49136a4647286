//! Integers that name a class or a row, and their checks.

use candle_core::{DType, Error as CandleError, Result as CandleResult, Tensor};

/// Returns `labels` in the widest integers, whose largest is the one that candle passes over: 255 is a class among 256.
///
/// It is an error if they are no integers or, on the CPU, one is not below `limit`. candle itself checks this there too, but
/// takes the largest integer for no class; on other devices a check would wait for the device.
pub(crate) fn below(limit: usize, labels: &Tensor, op: &'static str) -> CandleResult<Tensor> {
    if !labels.dtype().is_int() {
        let (msg, got) = ("labels are integers", labels.dtype());
        return Err(CandleError::UnexpectedDType { msg, expected: DType::U32, got });
    }
    let labels = labels.to_dtype(DType::I64)?;
    if labels.device().is_cpu() && labels.elem_count() > 0 {
        let largest = labels.flatten_all()?.max_all()?.to_scalar::<i64>()?;
        let index = usize::try_from(largest).unwrap_or_default();
        if index >= limit {
            return Err(CandleError::InvalidIndex { op, index, size: limit });
        }
    }
    Ok(labels)
}
