//! Sum of a tensor and a vector along the channel axis.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::Op;
use binade_ops::BiasAdd;

impl<D: Device + BiasAdd> Var<D> {
    /// Returns `self + bias` along the channel axis: see [`BiasAdd`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operands do not fit, or the device fails.
    pub fn bias_add(&self, bias: &Self) -> Outcome<D> {
        let [x, b] = self.operands(Op::BIAS_ADD, [self, bias])?;
        let output = self.tape().device().bias_add(&x.tensor, &b.tensor)?;
        let rule = |device: &D, grad: &D::Tensor| Ok(all(device.bias_add_backward(grad)?));
        Ok(self.push(Op::BIAS_ADD, &[&x, &b], &Saves::Nothing, output, rule))
    }
}
