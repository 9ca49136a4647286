//! Mean of each of a given number of windows.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::Op;
use binade_core::ops::AdaptiveAvgPool2d;

impl<D: Device + AdaptiveAvgPool2d> Var<D> {
    /// Returns `self` [N, C, H, W] averaged to `output` rows and columns: see [`AdaptiveAvgPool2d`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operand does not fit, or the device fails.
    pub fn adaptive_avg_pool2d(&self, output: [usize; 2]) -> Outcome<D> {
        let [x] = self.operands(Op::ADAPTIVE_AVG_POOL2D, [self])?;
        let result = self.tape().device().adaptive_avg_pool2d(&x.tensor, output)?;
        let shape = self.shape();
        let rule = move |device: &D, grad: &D::Tensor| {
            Ok(all([device.adaptive_avg_pool2d_backward(grad, &shape)?]))
        };
        Ok(self.push(Op::ADAPTIVE_AVG_POOL2D, &[&x], &Saves::Nothing, result, rule))
    }
}
