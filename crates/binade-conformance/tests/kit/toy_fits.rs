//! What the toy refuses, by the rules of `binade-ops`.

use crate::toy::Plain;
use binade_conformance::{OpInvocation, Refusal};
use binade_core::{DType, Op};
use binade_ops::{Operand, operands, shape};

impl Operand for Plain {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }
}

/// Holds operands to what the operation takes.
pub(crate) fn check(op: &OpInvocation, t: &[&Plain]) -> Result<(), Refusal> {
    use OpInvocation as C;
    let s: Vec<&[usize]> = t.iter().map(|t| &t.shape[..]).collect();
    match op {
        C::AddBackward => {}
        C::Fill { shape, .. } => {
            shape::fill(shape)?;
        }
        C::Reshape { shape } => {
            shape::reshape(s[0], shape)?;
        }
        C::MatMul => float(Op::MATMUL, t, &shape::matmul(s[0], s[1])?, 0)?,
        C::MatMulBackward => float(Op::MATMUL, t, &shape::matmul(s[1], s[2])?, 1)?,
        C::Bmm => float(Op::BMM, t, &shape::bmm(s[0], s[1])?, 0)?,
        C::BmmBackward => float(Op::BMM, t, &shape::bmm(s[1], s[2])?, 1)?,
        C::Linear => float(Op::LINEAR, t, &shape::linear(s[0], s[1], s.get(2).copied())?, 0)?,
        C::LinearBackward { .. } => float(Op::LINEAR, t, &shape::linear(s[1], s[2], None)?, 1)?,
        C::LinearRelu => {
            let shape = shape::linear(s[0], s[1], s.get(2).copied())?;
            float(Op::LINEAR_RELU, t, &shape, 0)?;
        }
        C::LinearReluBackward { .. } => {
            float(Op::LINEAR_RELU, t, &shape::linear(s[2], s[3], None)?, 1)?;
        }
        C::Conv2d { config } => {
            let shape = shape::conv2d(s[0], s[1], s.get(2).copied(), *config)?;
            float(Op::CONV2D, t, &shape, 0)?;
        }
        C::Conv2dBackward { config, .. } => {
            float(Op::CONV2D, t, &shape::conv2d(s[1], s[2], None, *config)?, 1)?;
        }
        C::MaxPool2d { config } => float(Op::MAX_POOL2D, t, &shape::max_pool2d(s[0], *config)?, 0)?,
        C::MaxPool2dBackward { config } => {
            float(Op::MAX_POOL2D, t, &shape::max_pool2d(s[1], *config)?, 1)?;
        }
        C::Sum => float(Op::SUM, t, &[], 0)?,
        C::Mean => float(Op::MEAN, t, &[], 0)?,
        C::SumBackward { shape, .. } | C::MeanBackward { shape, .. } => {
            shape::fill(shape)?;
            operands::scalar_grad(Op::SUM, t[0])?;
        }
        C::Embedding => {
            shape::embedding(s[0], s[1])?;
            operands::integers(Op::EMBEDDING, t[1])?;
        }
        C::EmbeddingBackward { rows } => {
            let width = s[0].last().copied().unwrap_or_default();
            let table = shape::bounded(Op::EMBEDDING, vec![*rows, width])?;
            shape::same(Op::EMBEDDING, s[0], &shape::embedding(&table, s[1])?)?;
        }
        C::Dropout { p } | C::DropoutBackward { p } => {
            shape::dropout(s[0], s[1], *p)?;
            float(Op::DROPOUT, &t[..1], &[], 0)?;
            operands::integers(Op::DROPOUT, t[1])?;
        }
        C::BiasAdd => float(Op::BIAS_ADD, t, &shape::bias_add(s[0], s[1])?, 0)?,
        C::BiasAddBackward => {
            shape::softmax(Op::BIAS_ADD, s[0])?;
        }
        _ => rows(op, t, &s)?,
    }
    Ok(())
}

/// Norms, losses, and what takes tensors of one shape.
fn rows(op: &OpInvocation, t: &[&Plain], s: &[&[usize]]) -> Result<(), Refusal> {
    use OpInvocation as C;
    match op {
        C::LayerNorm { .. } => {
            shape::layer_norm(s[0], s[1], s[2])?;
            operands::norm(Op::LAYER_NORM, t[0], &t[1..])?;
        }
        C::LayerNormBackward { .. } => {
            let shape = shape::layer_norm(s[1], s[2], s[2])?;
            operands::norm(Op::LAYER_NORM, t[1], &t[2..])?;
            operands::grad(Op::LAYER_NORM, t[0], &shape, t[1].dtype)?;
        }
        C::BatchNorm { .. } | C::BatchNormInference { .. } => {
            shape::batch_norm(s[0], &s[1..])?;
            operands::norm(Op::BATCH_NORM, t[0], &t[1..3])?;
            operands::all_f32(Op::BATCH_NORM, &t[3..])?;
            if matches!(op, C::BatchNorm { .. }) {
                shape::batch_norm_samples(s[0])?;
            }
        }
        C::BatchNormBackward { .. } => {
            let shape = shape::batch_norm(s[1], &s[2..])?;
            operands::grad(Op::BATCH_NORM, t[0], &shape, t[1].dtype)?;
        }
        C::CrossEntropy => {
            shape::cross_entropy(s[0], s[1])?;
            operands::integers(Op::CROSS_ENTROPY, t[1])?;
        }
        C::CrossEntropyBackward => {
            shape::cross_entropy(s[1], s[2])?;
            operands::scalar_grad(Op::CROSS_ENTROPY, t[0])?;
        }
        C::MseLoss => float(Op::MSE_LOSS, t, &shape::mse_loss(s[0], s[1])?, 0)?,
        C::MseLossBackward => {
            operands::scalar_grad(Op::MSE_LOSS, t[0])?;
            float(Op::MSE_LOSS, &t[1..], &shape::mse_loss(s[1], s[2])?, 0)?;
        }
        C::Softmax | C::LogSoftmax => {
            shape::softmax(Op::SOFTMAX, s[0])?;
            float(Op::SOFTMAX, t, &[], 0)?;
        }
        _ => {
            for other in &s[1..] {
                shape::same(Op::ADD, s[0], other)?;
            }
            float(Op::ADD, t, &[], 0)?;
        }
    }
    Ok(())
}

/// Operands of one type, the first `grads` of which are gradients of a result of this shape.
fn float(op: Op, t: &[&Plain], shape: &[usize], grads: usize) -> Result<(), Refusal> {
    let dtype = operands::float(op, t)?;
    for grad in &t[..grads] {
        operands::grad(op, *grad, shape, dtype)?;
    }
    Ok(())
}
