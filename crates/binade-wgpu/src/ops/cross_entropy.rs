//! Cross-entropy of class labels.

use super::{
    operands::{by_group, pieces},
    rows::{params, row_parts},
    total::float,
};
use crate::{
    Result, Tensor, Wgpu,
    dispatch::{
        Bound, groups,
        structs::{self, code, count},
    },
};
use binade_core::DType;
use binade_gpu::{CrossEntropyKernels, Driver, Rows, Total, TotalKernels};

impl CrossEntropyKernels for Wgpu {
    fn launch_cross_entropy(&self, logits: &Tensor, labels: &Tensor, result: &Tensor) -> Result {
        let (rows, dtype) = (Rows::of(logits), logits.dtype());
        let losses = self.unset(DType::F32, &[rows.count])?;
        let numbers = self.numbers_of_rows("softmax_numbers", &[logits])?;
        for part in row_parts(rows, dtype.bytes(), self.facts().most_binding_bytes)? {
            let elements = part.start * rows.width..part.end * rows.width;
            let (mut bound, starts) = pieces(&[logits], &elements);
            let (output, at) = Bound::elements(&losses, part.clone());
            let (labels, labels_start) = self.whole_words(labels)?;
            let dtype = code("cross_entropy", dtype)?;
            let params = structs::Rows { dtype, starts, at, labels_start, ..params(rows, &part) };
            bound.extend([output, self.whole(&numbers)?.0, labels, self.fault_record()?]);
            self.dispatch("cross_entropy", &params, bound, groups(part.len()))?;
        }
        self.launch_total(Total::Mean, &[&losses], result)
    }

    fn launch_cross_entropy_backward(&self, tensors: [&Tensor; 4]) -> Result {
        let [grad, logits, labels, result] = tensors;
        if result.is_empty() {
            return Ok(());
        }
        let (rows, dtype) = (Rows::of(logits), code("cross_entropy", result.dtype())?);
        let numbers = self.numbers_of_rows("softmax_numbers", &[logits])?;
        for part in self.parts_of(result) {
            let (mut bound, starts) = pieces(&[logits], &part);
            let (labels, labels_start) = self.whole_words(labels)?;
            let (from, grad_start) = self.whole(grad)?;
            let params = structs::Rows {
                len: count(part.len()),
                dtype,
                starts,
                first: count(part.start),
                labels_start,
                grad_start,
                divisor: float(rows.count),
                ..params(rows, &(0..rows.count))
            };
            let (numbers, _) = self.whole(&numbers)?;
            let output = Bound::elements(result, part.clone()).0;
            bound.extend([output, numbers, labels, from, self.fault_record()?]);
            self.dispatch("cross_entropy_backward", &params, bound, by_group(part.len()))?;
        }
        Ok(())
    }
}
