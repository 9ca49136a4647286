//! Mean of each of a given number of windows.

use super::{Outcome, Saves, linear_map::map};
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
        let pool = map(move |device: &D, x: &D::Tensor| device.adaptive_avg_pool2d(x, output));
        let back = move |device: &D, x: &D::Tensor| device.adaptive_avg_pool2d_backward(x, &shape);
        let maps = [pool, map(back)];
        Ok(self.push_linear(Op::ADAPTIVE_AVG_POOL2D, &[&x], &Saves::Nothing, result, maps))
    }
}
