//! Linear layer; and operands and gradients of its kin: an input, a weight and an optional bias.

use super::{Failed, Outcome, Saves};
use crate::{
    Device, Var,
    record::{Grads, Value},
};
use binade_core::Op;
use binade_core::ops::{AffineGrads, Linear, OpInvocation, WeightGrads};

impl<D: Device + Linear> Var<D> {
    /// Returns `self·weightᵀ + bias`, of shape [.., out]: see [`Linear`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operands do not fit, or the device fails.
    pub fn linear(&self, weight: &Self, bias: Option<&Self>) -> Outcome<D> {
        let operands = Affine::new(Op::LINEAR, self, weight, bias)?;
        let (x, w, b) = (operands.input(), operands.weight(), operands.bias());
        let output = self.tape().device().linear(x, w, b)?;
        let (x, w, b, wants_input) = (x.clone(), w.clone(), b.is_some(), operands.wants_input());
        let (inputs, rule) = (operands.all(), move |device: &D, grad: &D::Tensor| {
            if !wants_input {
                return Ok(but_for_input::<D>(device.linear_backward_of_weight(grad, &x, &w, b)?));
            }
            Ok(in_order::<D>(device.linear_backward(grad, &x, &w, b)?))
        });
        let (saves, call) =
            (Saves::Inputs(&inputs[..2]), OpInvocation::LinearBackward { bias: inputs.len() > 2 });
        Ok(self.push_call(Op::LINEAR, &inputs, &saves, output, rule, call))
    }
}

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
