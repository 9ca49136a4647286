//! Tensors joined along an axis.

use super::{Outcome, Saves};
use crate::{Device, Var};
use binade_core::Op;
use binade_core::ops::{Cat, Narrow};

impl<D: Device + Cat + Narrow> Var<D> {
    /// Returns `self` and then `others`, joined along `axis`: see [`Cat`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operands do not fit, or the device fails.
    pub fn cat(&self, others: &[&Self], axis: usize) -> Outcome<D> {
        let inputs = self.operand_list(Op::CAT.into(), &[&[self], others].concat())?;
        let device = self.tape().device();
        let tensors: Vec<_> = inputs.iter().map(|input| &input.tensor).collect();
        let output = device.cat(&tensors, axis)?;
        let extents: Vec<usize> = tensors.iter().map(|tensor| device.shape(tensor)[axis]).collect();
        let rule = move |device: &D, grad: &D::Tensor| {
            let mut start = 0;
            let part = |extent: &usize| {
                let part = device.narrow(grad, axis, start, *extent)?;
                start += extent;
                Ok(Some(part))
            };
            extents.iter().map(part).collect()
        };
        let inputs: Vec<_> = inputs.iter().collect();
        Ok(self.push(Op::CAT, &inputs, &Saves::Nothing, output, rule))
    }
}
