//! Checks of integers that name a class or a row.

use candle_core::{DType, Error as CandleError, Result as CandleResult, Tensor};

/// Returns `labels` as `i64`. candle ignores the largest integer of a type, so as `u8`, 255 would be no class among 256.
///
/// Labels that are no integers are an error; on the CPU, so is a label that is not below `limit`. candle's own check on the CPU takes the largest
/// integer for no class. On other devices a check would wait for the device.
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
