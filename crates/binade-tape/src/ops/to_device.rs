//! Move to another device of a handle of several.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::ops::ToDevice;
use binade_core::{Op, OpClass};

const TO_DEVICE: Op = Op::custom("to_device", OpClass::Other);

impl<D: Device + ToDevice> Var<D> {
    /// Returns `self` on the device of this number, in its element type; its gradient is moved back. No policy is asked. A value that
    /// lies there already is returned as it is.
    ///
    /// # Errors
    ///
    /// If there is no such device, or a device fails.
    pub fn to_device(&self, device: usize) -> Outcome<D> {
        let [x] = self.seen(TO_DEVICE, [self])?;
        let handle = self.tape().device();
        let home = handle.device_of(&x.tensor);
        if home == device {
            return Ok(Self::new(self.tape().clone(), x));
        }
        let output = handle.to_device(&x.tensor, device)?;
        let rule = move |handle: &D, grad: &D::Tensor| Ok(all([handle.to_device(grad, home)?]));
        Ok(self.push(TO_DEVICE, &[&x], &Saves::Nothing, output, rule))
    }
}
