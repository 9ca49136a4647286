//! Gradients of losses and means.

use super::shapes::share;
use crate::{
    Device, Var,
    ops::{Outcome, linear_map::map},
};
use binade_core::ops::Ops;
use binade_core::{DType, Op};

/// Returns `g/n` everywhere.
pub(super) fn mean<D: Device + Ops>(
    taken: &[Var<D>],
    shape: Vec<usize>,
    dtype: DType,
) -> Outcome<D> {
    let spread = move |device: &D, x: &D::Tensor| device.mean_backward(x, &shape, dtype);
    taken[0].linear_map(Op::MEAN, [map(spread), map(|device: &D, x: &D::Tensor| device.mean(x))])
}

/// Computes `±2·(input − target)·g/n`.
pub(super) fn mse_loss<D: Device + Ops>(operand: usize, taken: &[Var<D>]) -> Outcome<D> {
    let [grad, input, target] = taken else {
        unreachable!("`mse_loss_backward` takes three tensors")
    };
    let sign = if operand == 0 { 2.0 } else { -2.0 };
    let count = input.value().elements();
    let slope = input.sub(target)?.scaled_by(share(sign, count))?;
    grad.spread(input.shape(), DType::F32)?.mul(&slope)
}

/// Computes `(softmax(logits) − onehot)·g/n`. The one-hot rows are a constant: the kernel's result for `g = 1`, less the softmax.
pub(super) fn cross_entropy<D: Device + Ops>(_: usize, taken: &[Var<D>]) -> Outcome<D> {
    let [grad, logits, labels] = taken else {
        unreachable!("`cross_entropy_backward` takes three tensors")
    };
    let rows = logits.shape().first().copied().unwrap_or(1);
    let shares = logits.softmax()?.scaled_by(share(1.0, rows as u64))?;
    let one = grad.filled(1.0)?;
    let device = grad.tape().device();
    let value = device.cross_entropy_backward(one.tensor(), logits.tensor(), labels.tensor())?;
    let rest = grad.tape().constant(value).sub(&shares.detach())?;
    grad.spread(logits.shape(), DType::F32)?.mul(&shares.add(&rest)?)
}
