//! Normalisation over the last axis.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::Op;
use binade_core::ops::{LayerNorm, NormGrads, OpInvocation};

impl<D: Device + LayerNorm> Var<D> {
    /// Normalises `self` over the last axis, times `weight`, plus `bias`: see [`LayerNorm`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operands do not fit, or the device fails.
    pub fn layer_norm(&self, weight: &Self, bias: &Self, eps: f32) -> Outcome<D> {
        let [x, w, b] = self.operands(Op::LAYER_NORM, [self, weight, bias])?;
        let output = self.tape().device().layer_norm(&x.tensor, &w.tensor, &b.tensor, eps)?;
        let (input, gain) = (x.tensor.clone(), w.tensor.clone());
        let rule = move |device: &D, grad: &D::Tensor| {
            let grads = device.layer_norm_backward(grad, &input, &gain, eps)?;
            let NormGrads { input, weight, bias } = grads;
            Ok(all([input, weight, bias]))
        };
        let call = OpInvocation::LayerNormBackward { eps };
        let saves = Saves::Inputs(&[&x, &w]);
        Ok(self.push_call(Op::LAYER_NORM, &[&x, &w, &b], &saves, output, rule, call))
    }
}
