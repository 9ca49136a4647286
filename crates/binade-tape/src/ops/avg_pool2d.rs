//! Mean of each window.

use super::{Outcome, Saves, linear_map::map};
use crate::{Device, Var};
use binade_core::Op;
use binade_core::ops::{AvgPool2d, AvgPool2dConfig};

impl<D: Device + AvgPool2d> Var<D> {
    /// Returns the mean of each window of images `self`, [N, C, H, W] unless the layout says otherwise: see [`AvgPool2d`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operand does not fit, or the device fails.
    pub fn avg_pool2d(&self, config: AvgPool2dConfig) -> Outcome<D> {
        let [x] = self.operands(Op::AVG_POOL2D, [self])?;
        let output = self.tape().device().avg_pool2d(&x.tensor, config)?;
        let shape = self.shape();
        let pool = map(move |device: &D, x: &D::Tensor| device.avg_pool2d(x, config));
        let back = move |device: &D, x: &D::Tensor| device.avg_pool2d_backward(x, &shape, config);
        let maps = [pool, map(back)];
        Ok(self.push_linear(Op::AVG_POOL2D, &[&x], &Saves::Nothing, output, maps))
    }
}
