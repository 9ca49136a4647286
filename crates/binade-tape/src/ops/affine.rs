//! Operands and gradients of linear layers and convolutions: an input, a weight and an optional bias.

use super::Failed;
use crate::{Device, Var, record::Grads, value::Value};
use binade_core::Op;
use binade_ops::{AffineGrads, WeightGrads};

/// Operands as the operation sees them: input, weight, and the bias if there is one.
pub(super) struct Affine<D: Device>(Vec<Value<D>>);

impl<D: Device> Affine<D> {
    pub(super) fn new(
        op: Op,
        input: &Var<D>,
        weight: &Var<D>,
        bias: Option<&Var<D>>,
    ) -> Result<Self, Failed<D>> {
        let operands: Vec<&Var<D>> = [input, weight].into_iter().chain(bias).collect();
        Ok(Self(input.operand_list(op.into(), &operands)?))
    }

    pub(super) fn input(&self) -> &D::Tensor {
        &self.0[0].tensor
    }

    pub(super) fn weight(&self) -> &D::Tensor {
        &self.0[1].tensor
    }

    pub(super) fn bias(&self) -> Option<&D::Tensor> {
        self.0.get(2).map(|bias| &bias.tensor)
    }

    /// Returns true if a gradient can arrive at the input.
    pub(super) fn wants_input(&self) -> bool {
        self.0[0].node.is_some()
    }

    pub(super) fn all(&self) -> Vec<&Value<D>> {
        self.0.iter().collect()
    }
}

/// Returns the gradients in the order of the operands, with none for the input.
pub(super) fn but_for_input<D: Device>(grads: WeightGrads<D::Tensor>) -> Grads<D> {
    let WeightGrads { weight, bias } = grads;
    [None, Some(weight)].into_iter().chain(bias.map(Some)).collect()
}

/// Returns the gradients in the order of the operands.
pub(super) fn in_order<D: Device>(grads: AffineGrads<D::Tensor>) -> Grads<D> {
    let AffineGrads { input, weight, bias } = grads;
    [input, weight].into_iter().chain(bias).map(Some).collect()
}
