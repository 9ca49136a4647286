//! Tensors joined along an axis.

use super::{Outcome, Saves};
use crate::{
    Device, Var,
    record::{OwnRule, RecordedRule},
};
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
        let ends = extents.iter().scan(0, |end, extent| {
            *end += extent;
            Some(*end)
        });
        let parts: Vec<_> = ends.zip(extents.iter().copied()).collect();
        let places = parts.clone();
        let rule = move |device: &D, grad: &D::Tensor| {
            let part = |(end, len): &(usize, usize)| {
                Ok(Some(device.narrow(grad, axis, end - len, *len)?))
            };
            parts.iter().map(part).collect()
        };
        let recorded: OwnRule<D> = Box::new(move |grad, operand| {
            let (end, len) = places[operand];
            grad.narrow(axis, end - len, len).map(Some)
        });
        let inputs: Vec<_> = inputs.iter().collect();
        Ok(self.push_recorded(Op::CAT, &inputs, &Saves::Nothing, output, rule, |_| {
            RecordedRule::Own(recorded)
        }))
    }
}
