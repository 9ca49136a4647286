//! Move to another device of a handle of several.

use super::{Outcome, linear_map::map};
use crate::{Device, Var};
use binade_core::ops::ToDevice;
use binade_core::{Op, OpClass};

const TO_DEVICE: Op = Op::custom("to_device", OpClass::Other);

impl<D: Device + ToDevice> Var<D> {
    /// Returns `self` on the device of this number, in its element type; its gradient is moved back. No policy applies. A value that is already on
    /// that device is returned unchanged.
    ///
    /// # Errors
    ///
    /// If there is no such device, or a device fails.
    pub fn to_device(&self, device: usize) -> Outcome<D> {
        let home = self.tape().device().device_of(self.tensor());
        if home == device {
            let [x] = self.seen(TO_DEVICE, [self])?;
            return Ok(Self::new(self.tape().clone(), x));
        }
        let to = |device| map(move |handle: &D, x: &D::Tensor| handle.to_device(x, device));
        self.linear_map(TO_DEVICE, [to(device), to(home)])
    }
}
