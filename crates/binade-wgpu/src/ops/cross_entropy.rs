//! Cross-entropy of class labels.

use super::{
    rows::{PARAMS, Rows},
    softmax::SOFTMAX_NUMBERS,
    sum::SUM,
    total::divisor,
};
use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        Bound, GROUP, groups, parts,
        structs::{self, code, count},
    },
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use binade_core::{DType, Op};
use binade_gpu::Driver;
use binade_ops::{CrossEntropy, operands, shape};

pub(super) const SHADERS: &[&Shader] = &[&CROSS_ENTROPY, &CROSS_ENTROPY_BACKWARD];

const CROSS_ENTROPY: Shader = Shader {
    name: "cross_entropy",
    file: "cross_entropy",
    params: PARAMS,
    bindings: &[(1, Read), (3, Write), (4, Read), (5, Read), (7, Write)],
};
const CROSS_ENTROPY_BACKWARD: Shader = Shader {
    name: "cross_entropy_backward",
    bindings: &[(1, Read), (3, Write), (4, Read), (5, Read), (6, Read), (7, Write)],
    ..CROSS_ENTROPY
};

impl CrossEntropy for Wgpu {
    fn cross_entropy(&self, logits: &Tensor, labels: &Tensor) -> Result<Tensor, Error> {
        let dtype = check(logits, labels)?;
        self.has_made_all(&[logits, labels])?;
        let rows = Rows::of(logits);
        let losses = self.unset(DType::F32, &[rows.count])?;
        let numbers = self.numbers_of_rows(&SOFTMAX_NUMBERS, &[logits])?;
        for part in rows.parts(dtype.bytes(), self.facts().most_binding_bytes)? {
            let elements = part.start * rows.width..part.end * rows.width;
            let (input, start) = Bound::elements(logits, elements);
            let (output, at) = Bound::elements(&losses, part.clone());
            let (labels, labels_start) = self.whole_words(labels)?;
            let dtype = code("cross_entropy", dtype)?;
            let starts = [start, 0];
            let params = structs::Rows { dtype, starts, at, labels_start, ..rows.params(&part) };
            let bound = vec![input, output, self.whole(&numbers)?.0, labels, self.fault_record()?];
            self.dispatch(&CROSS_ENTROPY, &params, bound, groups(part.len()))?;
        }
        self.total(&SUM, &[&losses], divisor(rows.count), f32::NAN)
    }

    fn cross_entropy_backward(
        &self,
        grad: &Tensor,
        logits: &Tensor,
        labels: &Tensor,
    ) -> Result<Tensor, Error> {
        let dtype = check(logits, labels)?;
        operands::scalar_grad(Op::CROSS_ENTROPY, grad)?;
        self.has_made_all(&[grad, logits, labels])?;
        let (result, rows) = (self.unset(dtype, logits.shape())?, Rows::of(logits));
        if result.is_empty() {
            return Ok(result);
        }
        let numbers = self.numbers_of_rows(&SOFTMAX_NUMBERS, &[logits])?;
        for part in parts(result.len(), dtype.bytes(), self.facts().most_binding_bytes) {
            let [(input, start), (output, _)] =
                [logits, &result].map(|tensor| Bound::elements(tensor, part.clone()));
            let (labels, labels_start) = self.whole_words(labels)?;
            let (from, grad_start) = self.whole(grad)?;
            let params = structs::Rows {
                len: count(part.len()),
                dtype: code("cross_entropy", dtype)?,
                starts: [start, 0],
                first: count(part.start),
                labels_start,
                grad_start,
                divisor: divisor(rows.count),
                ..rows.params(&(0..rows.count))
            };
            let (numbers, _) = self.whole(&numbers)?;
            let bound = vec![input, output, numbers, labels, from, self.fault_record()?];
            let groups = groups(part.len().div_ceil(GROUP));
            self.dispatch(&CROSS_ENTROPY_BACKWARD, &params, bound, groups)?;
        }
        Ok(result)
    }
}

/// Checks everything that does not depend on the labels' values.
fn check(logits: &Tensor, labels: &Tensor) -> Result<DType, Error> {
    shape::cross_entropy(logits.shape(), labels.shape())?;
    let dtype = operands::float(Op::CROSS_ENTROPY, &[logits])?;
    operands::integers(Op::CROSS_ENTROPY, labels)?;
    Ok(dtype)
}
