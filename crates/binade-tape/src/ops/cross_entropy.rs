//! Cross-entropy of class labels.

use super::{Outcome, Saves};
use crate::{Device, Var};
use binade_core::Op;
use binade_core::ops::{CrossEntropy, OpInvocation};

impl<D: Device + CrossEntropy> Var<D> {
    /// Returns the mean loss of logits [N, C] against N i64 `labels`, an `f32` scalar: see [`CrossEntropy`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operands do not fit, or the device fails.
    pub fn cross_entropy(&self, labels: &D::Tensor) -> Outcome<D> {
        let labels = self.tape().constant(labels.clone());
        let operands = self.operands_of_f32(Op::CROSS_ENTROPY, &[self, &labels])?;
        let inputs: Vec<_> = operands.iter().collect();
        let (logits, labels) = (inputs[0].tensor.clone(), inputs[1].tensor.clone());
        let output = self.tape().device().cross_entropy(&logits, &labels)?;
        let rule = move |device: &D, grad: &D::Tensor| {
            Ok(vec![Some(device.cross_entropy_backward(grad, &logits, &labels)?), None])
        };
        let call = OpInvocation::CrossEntropyBackward;
        Ok(self.push_call(Op::CROSS_ENTROPY, &inputs, &Saves::Inputs(&inputs), output, rule, call))
    }
}
