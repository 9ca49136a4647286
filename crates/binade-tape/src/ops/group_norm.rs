//! Normalisation over groups of channels.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::Op;
use binade_core::ops::{GroupNorm, NormGrads};

impl<D: Device + GroupNorm> Var<D> {
    /// Normalises each sample of `self` [N, C, ..] over groups of channels, times `weight`, plus `bias` of C: see [`GroupNorm`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operands do not fit, or the device fails.
    pub fn group_norm(&self, weight: &Self, bias: &Self, groups: usize, eps: f32) -> Outcome<D> {
        let [x, w, b] = self.operands(Op::GROUP_NORM, [self, weight, bias])?;
        let device = self.tape().device();
        let output = device.group_norm(&x.tensor, &w.tensor, &b.tensor, groups, eps)?;
        let (input, gain) = (x.tensor.clone(), w.tensor.clone());
        let rule = move |device: &D, grad: &D::Tensor| {
            let grads = device.group_norm_backward(grad, &input, &gain, groups, eps)?;
            let NormGrads { input, weight, bias } = grads;
            Ok(all([input, weight, bias]))
        };
        Ok(self.push(Op::GROUP_NORM, &[&x, &w, &b], &Saves::Inputs(&[&x, &w]), output, rule))
    }
}
