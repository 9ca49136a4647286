//! Cross-entropy of class labels.

use super::rows::{blocks, chunk, grid};
use crate::{Cuda, Result, Tensor, autocast::code, launch::args};
use binade_gpu::{CrossEntropyKernels, Driver, Rows};

impl CrossEntropyKernels for Cuda {
    fn launch_cross_entropy(&self, logits: &Tensor, labels: &Tensor, result: &Tensor) -> Result {
        let (rows, dtype) = (Rows::of(logits), code("cross_entropy", logits.dtype())?);
        let chunk = chunk(rows);
        let chunks = rows.count.div_ceil(chunk);
        let partials = self.buffer(size_of::<f64>() * chunks)?;
        let [record, launch] = self.fault_args()?;
        let done = &self.fixed()?.done;
        let Rows { count, width } = rows;
        let args = args![
            logits, dtype, labels, count, width, chunk, &partials, done, result, record, launch
        ];
        self.launch("cross_entropy", blocks(chunks), &args)
    }

    fn launch_cross_entropy_backward(&self, tensors: [&Tensor; 4]) -> Result {
        let [grad, logits, labels, result] = tensors;
        let (rows, dtype) = (Rows::of(logits), code("cross_entropy", result.dtype())?);
        let [record, launch] = self.fault_args()?;
        let Rows { count, width } = rows;
        let args = args![grad, logits, dtype, labels, count, width, result, record, launch];
        self.launch("cross_entropy_backward", grid(rows), &args)
    }
}
