//! Gradients of matrix products.

use super::pointwise;
use crate::{Device, Var, ops::Outcome};
use binade_core::ops::Ops;

/// Computes `g·Bᵀ` and `Aᵀ·g`.
pub(super) fn matmul<D: Device + Ops>(operand: usize, taken: &[Var<D>]) -> Outcome<D> {
    let [grad, a, b] = taken else { unreachable!("`matmul_backward` takes three tensors") };
    if operand == 0 { grad.matmul(&transposed(b)?) } else { transposed(a)?.matmul(grad) }
}

/// Computes `g·Bᵀ` and `Aᵀ·g` for each pair of matrices.
pub(super) fn bmm<D: Device + Ops>(operand: usize, taken: &[Var<D>]) -> Outcome<D> {
    let [grad, a, b] = taken else { unreachable!("`bmm_backward` takes three tensors") };
    if operand == 0 { grad.bmm(&transposed(b)?) } else { transposed(a)?.bmm(grad) }
}

/// Computes `g·W`, `gᵀ·x` and the sums of `g` by feature.
pub(super) fn linear<D: Device + Ops>(operand: usize, taken: &[Var<D>]) -> Outcome<D> {
    let [grad, x, w, ..] = taken else { unreachable!("`linear_backward` takes three tensors") };
    let rows = grad.rows()?;
    match operand {
        0 => rows.matmul(w)?.reshape(&x.shape()),
        1 => transposed(&rows)?.matmul(&x.rows()?),
        _ => rows.channel_sums(),
    }
}

/// Computes the gradients of [`linear`] from the part of `g` that the rectifier lets pass.
pub(super) fn linear_relu<D: Device + Ops>(operand: usize, taken: &[Var<D>]) -> Outcome<D> {
    let [grad, x, w, output] = taken else {
        unreachable!("`linear_relu_backward` takes four tensors")
    };
    let passed = pointwise::relu(0, &[grad.clone(), output.clone()])?;
    linear(operand, &[passed, x.clone(), w.clone()])
}

/// Returns the matrices with their last two axes exchanged.
fn transposed<D: Device + Ops>(matrices: &Var<D>) -> Outcome<D> {
    let rank = matrices.shape().len();
    let mut axes: Vec<_> = (0..rank).collect();
    axes.swap(rank - 2, rank - 1);
    matrices.permute(&axes)
}

impl<D: Device + Ops> Var<D> {
    /// Returns the elements as a matrix whose rows are the last axis.
    pub(super) fn rows(&self) -> Outcome<D> {
        let shape = self.shape();
        let width = shape.last().copied().unwrap_or(1);
        self.reshape(&[shape.iter().rev().skip(1).product(), width])
    }
}
