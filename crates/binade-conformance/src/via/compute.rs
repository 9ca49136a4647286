//! Every operation of `binade-ops`, by the trait that users call.

use super::missing;
use crate::{Compute, Refusal};
use binade_core::Handle;
use binade_ops::{AffineGrads, BatchNormOutput, NormGrads, Ops, RunningStats};

/// [`Subject::compute`](crate::Subject::compute) by the traits of [`Ops`].
///
/// # Errors
///
/// The device's, and [`Refusal::Failed`] for operands of another number than the operation takes.
pub fn compute<D: Ops + Handle<Tensor: Clone>>(
    device: &D,
    op: &Compute,
    operands: &[&D::Tensor],
) -> Result<Vec<D::Tensor>, Refusal> {
    use Compute as C;
    let d = device;
    match (op, operands) {
        (C::Fill { value, shape, dtype }, []) => one(d.fill(*value, shape, *dtype)),
        (C::Reshape { shape }, [x]) => one(d.reshape(x, shape)),
        (C::MatMul, [a, b]) => one(d.matmul(a, b)),
        (C::MatMulBackward, [g, a, b]) => two(d.matmul_backward(g, a, b)),
        (C::Bmm, [a, b]) => one(d.bmm(a, b)),
        (C::BmmBackward, [g, a, b]) => two(d.bmm_backward(g, a, b)),
        (C::Linear, [x, w, b @ ..]) => one(d.linear(x, w, b.first().copied())),
        (C::LinearBackward { bias }, [g, x, w]) => affine(d.linear_backward(g, x, w, *bias)),
        (C::LinearRelu, [x, w, b @ ..]) => one(d.linear_relu(x, w, b.first().copied())),
        (C::LinearReluBackward { bias }, [grad, output, x, w]) => {
            affine(d.linear_relu_backward(grad, output, x, w, *bias))
        }
        (C::Conv2d(config), [x, w, b @ ..]) => one(d.conv2d(x, w, b.first().copied(), *config)),
        (C::Conv2dBackward { config, bias }, [g, x, w]) => {
            affine(d.conv2d_backward(g, x, w, *bias, *config))
        }
        (C::LayerNorm { .. } | C::LayerNormBackward { .. }, _) => layer_norm(d, op, operands),
        (C::BatchNorm(_) | C::BatchNormInference { .. } | C::BatchNormBackward { .. }, _) => {
            batch_norm(d, op, operands)
        }
        (C::Softmax, [x]) => one(d.softmax(x)),
        (C::SoftmaxBackward, [g, y]) => one(d.softmax_backward(g, y)),
        (C::LogSoftmax, [x]) => one(d.log_softmax(x)),
        (C::LogSoftmaxBackward, [g, y]) => one(d.log_softmax_backward(g, y)),
        (C::CrossEntropy, [x, labels]) => one(d.cross_entropy(x, labels)),
        (C::CrossEntropyBackward, [g, x, labels]) => one(d.cross_entropy_backward(g, x, labels)),
        (C::MseLoss, [x, y]) => one(d.mse_loss(x, y)),
        (C::MseLossBackward, [g, x, y]) => two(d.mse_loss_backward(g, x, y)),
        (C::Sum, [x]) => one(d.sum(x)),
        (C::SumBackward { shape, dtype }, [g]) => one(d.sum_backward(g, shape, *dtype)),
        (C::Mean, [x]) => one(d.mean(x)),
        (C::MeanBackward { shape, dtype }, [g]) => one(d.mean_backward(g, shape, *dtype)),
        (C::Embedding, [table, indices]) => one(d.embedding(table, indices)),
        (C::EmbeddingBackward { rows }, [g, indices]) => {
            one(d.embedding_backward(g, indices, *rows))
        }
        (C::MaxPool2d(config), [x]) => one(d.max_pool2d(x, *config)),
        (C::MaxPool2dBackward(config), [g, x]) => one(d.max_pool2d_backward(g, x, *config)),
        (C::Dropout { p }, [x, key]) => one(d.dropout(x, key, *p)),
        (C::DropoutBackward { p }, [g, key]) => one(d.dropout_backward(g, key, *p)),
        _ => pointwise(d, op, operands),
    }
}

fn pointwise<D: Ops + Handle<Tensor: Clone>>(
    d: &D,
    op: &Compute,
    operands: &[&D::Tensor],
) -> Result<Vec<D::Tensor>, Refusal> {
    use Compute as C;
    match (op, operands) {
        (C::Relu, [x]) => one(d.relu(x)),
        (C::ReluBackward, [g, y]) => one(d.relu_backward(g, y)),
        (C::Gelu, [x]) => one(d.gelu(x)),
        (C::GeluBackward, [g, x]) => one(d.gelu_backward(g, x)),
        (C::Tanh, [x]) => one(d.tanh(x)),
        (C::TanhBackward, [g, y]) => one(d.tanh_backward(g, y)),
        (C::Add, [a, b]) => one(d.add(a, b)),
        (C::AddBackward, [g]) => two(d.add_backward(g)),
        (C::Mul, [a, b]) => one(d.mul(a, b)),
        (C::MulBackward, [g, a, b]) => two(d.mul_backward(g, a, b)),
        (C::BiasAdd, [x, b]) => one(d.bias_add(x, b)),
        (C::BiasAddBackward, [g]) => two(d.bias_add_backward(g)),
        _ => miscounted(op, operands.len()),
    }
}

fn layer_norm<D: Ops + Handle<Tensor: Clone>>(
    d: &D,
    op: &Compute,
    operands: &[&D::Tensor],
) -> Result<Vec<D::Tensor>, Refusal> {
    match (op, operands) {
        (Compute::LayerNorm { eps }, [x, w, b]) => one(d.layer_norm(x, w, b, *eps)),
        (Compute::LayerNormBackward { eps }, [g, x, w]) => {
            norm(d.layer_norm_backward(g, x, w, *eps))
        }
        _ => miscounted(op, operands.len()),
    }
}

fn batch_norm<D: Ops + Handle<Tensor: Clone>>(
    d: &D,
    op: &Compute,
    operands: &[&D::Tensor],
) -> Result<Vec<D::Tensor>, Refusal> {
    let stats =
        |mean: &D::Tensor, var: &D::Tensor| RunningStats { mean: mean.clone(), var: var.clone() };
    match (op, operands) {
        (Compute::BatchNorm(config), [x, w, b, mean, var]) => {
            let BatchNormOutput { output, running } =
                d.batch_norm(x, w, b, &stats(mean, var), *config)?;
            Ok(vec![output, running.mean, running.var])
        }
        (Compute::BatchNormInference { eps }, [x, w, b, mean, var]) => {
            one(d.batch_norm_inference(x, w, b, &stats(mean, var), *eps))
        }
        (Compute::BatchNormBackward { eps }, [g, x, w]) => {
            norm(d.batch_norm_backward(g, x, w, *eps))
        }
        _ => miscounted(op, operands.len()),
    }
}

fn one<T, E: binade_core::Error>(result: Result<T, E>) -> Result<Vec<T>, Refusal> {
    Ok(vec![result?])
}

fn two<T, E: binade_core::Error>(result: Result<[T; 2], E>) -> Result<Vec<T>, Refusal> {
    Ok(result?.into())
}

fn affine<T, E: binade_core::Error>(result: Result<AffineGrads<T>, E>) -> Result<Vec<T>, Refusal> {
    let AffineGrads { input, weight, bias } = result?;
    Ok([input, weight].into_iter().chain(bias).collect())
}

fn norm<T, E: binade_core::Error>(result: Result<NormGrads<T>, E>) -> Result<Vec<T>, Refusal> {
    let NormGrads { input, weight, bias } = result?;
    Ok(vec![input, weight, bias])
}

fn miscounted<T>(op: &Compute, count: usize) -> Result<Vec<T>, Refusal> {
    Err(missing(&format!("{op:?} does not take {count} operands")))
}
