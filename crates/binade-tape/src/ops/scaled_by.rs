//! Product with a number.

use super::{Outcome, Saves, all};
use crate::{Device, Var, backward::beside};
use binade_core::ops::Mul;
use binade_core::{Op, OpClass};

const SCALED_BY: Op = Op::custom("scaled_by", OpClass::Pointwise);

impl<D: Device + Mul> Var<D> {
    /// Returns `self · factor` in its element type: a loss divided by the number of micro-batches, a weighted sum of losses. No
    /// policy is asked. Loss scaling is [`Scaler::scale`](binade_grad_scaler::Scaler::scale)'s work instead.
    ///
    /// # Errors
    ///
    /// If the device fails.
    pub fn scaled_by(&self, factor: f32) -> Outcome<D> {
        let [x] = self.seen(SCALED_BY, [self])?;
        let device = self.tape().device();
        let factor = beside(device, &x.tensor).fill(factor, &self.shape(), x.dtype())?;
        let output = Mul::mul(device, &x.tensor, &factor)?;
        let rule = move |device: &D, grad: &D::Tensor| Ok(all([Mul::mul(device, grad, &factor)?]));
        Ok(self.push(SCALED_BY, &[&x], &Saves::Nothing, output, rule))
    }
}
