//! Cross-entropy of class labels.

use super::{
    operands::{self, check},
    softmax::{cost, normaliser, softmax},
};
use crate::{Cpu, Error, Tensor, parallel, reduce};
use binade_core::Op;
use binade_core::ops::{CrossEntropy, OpInvocation};

impl CrossEntropy for Cpu {
    fn cross_entropy(&self, logits: &Tensor, labels: &Tensor) -> Result<Tensor, Error> {
        check(&OpInvocation::CrossEntropy, &[logits, labels])?;
        let labels = classes_of(logits, labels)?;
        let (x, classes) = (logits.to_f32(), logits.shape()[1]);
        let losses = parallel::partials(labels.len(), cost(classes), |rows| {
            rows.map(|i| row_loss(&x[i * classes..(i + 1) * classes], labels[i])).sum::<f64>()
        });
        let mean = losses.into_iter().sum::<f64>() / reduce::count(labels.len());
        Ok(Tensor::scalar(reduce::round(mean)))
    }

    fn cross_entropy_backward(
        &self,
        grad: &Tensor,
        logits: &Tensor,
        labels: &Tensor,
    ) -> Result<Tensor, Error> {
        check(&OpInvocation::CrossEntropyBackward, &[grad, logits, labels])?;
        let labels = classes_of(logits, labels)?;
        let grad = f64::from(operands::scalar_grad(Op::CROSS_ENTROPY, grad)?);
        let factor = reduce::round(grad / reduce::count(labels.len()));
        let (x, classes) = (logits.to_f32(), logits.shape()[1]);
        let mut out = parallel::zeros(x.len());
        parallel::rows(&mut out, classes, cost(classes), |first, block| {
            for (i, out) in (first..).zip(block.chunks_exact_mut(classes)) {
                row_grad(&x[i * classes..(i + 1) * classes], labels[i], factor, out);
            }
        });
        Tensor::from_f32(out, logits.shape(), logits.dtype())
    }
}

/// Computes `ln Σ exp(x) − x[label]`.
fn row_loss(row: &[f32], label: usize) -> f64 {
    let (max, sum) = normaliser(row);
    sum.ln() - f64::from(row[label] - max)
}

/// Computes `(softmax(x) − onehot(label)) · factor`.
fn row_grad(row: &[f32], label: usize, factor: f32, out: &mut [f32]) {
    softmax(row, out);
    out[label] -= 1.0;
    for out in out {
        *out *= factor;
    }
}

/// Returns the labels, all of which must be classes of the logits.
fn classes_of(logits: &Tensor, labels: &Tensor) -> Result<Vec<usize>, Error> {
    operands::indices(Op::CROSS_ENTROPY, labels, logits.shape()[1])
}
