//! Division by the root mean square over the last axis.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::Op;
use binade_core::ops::{OpInvocation, RmsNorm};

impl<D: Device + RmsNorm> Var<D> {
    /// Divides `self` by its root mean square over the last axis, times `weight`: see [`RmsNorm`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operands do not fit, or the device fails.
    pub fn rms_norm(&self, weight: &Self, eps: f32) -> Outcome<D> {
        let [x, w] = self.operands(Op::RMS_NORM, [self, weight])?;
        let output = self.tape().device().rms_norm(&x.tensor, &w.tensor, eps)?;
        let (input, gain) = (x.tensor.clone(), w.tensor.clone());
        let rule = move |device: &D, grad: &D::Tensor| {
            Ok(all(device.rms_norm_backward(grad, &input, &gain, eps)?))
        };
        let (inputs, call) = ([&x, &w], OpInvocation::RmsNormBackward { eps });
        Ok(self.push_call(Op::RMS_NORM, &inputs, &Saves::Inputs(&inputs), output, rule, call))
    }
}
