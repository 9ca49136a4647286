//! Reordering of axes.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::ops::Permute;
use binade_core::{Op, OpClass};

const PERMUTE: Op = Op::custom("permute", OpClass::Shape);

impl<D: Device + Permute> Var<D> {
    /// Returns `self` with its axes in another order: see [`Permute`]. No policy is asked, since nothing is computed.
    ///
    /// # Errors
    ///
    /// If `axes` do not name each axis once, or the device fails.
    pub fn permute(&self, axes: &[usize]) -> Outcome<D> {
        let [x] = self.seen(PERMUTE, [self])?;
        let output = self.tape().device().permute(&x.tensor, axes)?;
        let mut back = vec![0; axes.len()];
        axes.iter().enumerate().for_each(|(to, from)| back[*from] = to);
        let rule = move |device: &D, grad: &D::Tensor| Ok(all([device.permute(grad, &back)?]));
        Ok(self.push(PERMUTE, &[&x], &Saves::Nothing, output, rule))
    }
}
