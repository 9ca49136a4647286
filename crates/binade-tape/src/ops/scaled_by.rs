//! Product with a number.

use super::{Outcome, linear_map::map};
use crate::{Device, Var, backward::beside};
use binade_core::ops::Mul;
use binade_core::{Op, OpClass};

const SCALED_BY: Op = Op::custom("scaled_by", OpClass::Pointwise);

impl<D: Device + Mul> Var<D> {
    /// Returns `self · factor` in its element type: a loss divided by the number of micro-batches, a weighted sum of losses. No policy applies. Loss
    /// scaling is [`Scaler::scale`](binade_grad_scaler::Scaler::scale)'s work instead.
    ///
    /// # Errors
    ///
    /// If the device fails.
    pub fn scaled_by(&self, factor: f32) -> Outcome<D> {
        let near = beside(self.tape().device(), self.tensor());
        let factor = near.fill(factor, &self.shape(), self.dtype())?;
        let scale = map(move |device: &D, x: &D::Tensor| Mul::mul(device, x, &factor));
        self.linear_map(SCALED_BY, [scale.clone(), scale])
    }
}
