//! Moves of tensors between the devices of one handle.

use crate::Handle;

/// Handle of several devices, each of whose tensors lies on one of them. Devices are numbered from 0.
///
/// # For implementers
///
/// * `to_device` copies every bit, and keeps the element type and the shape.
/// * A tensor that lies on `device` already is returned without a copy.
/// * Nothing waits for a device.
pub trait ToDevice: Handle {
    /// Returns the number of the device that `tensor` lies on.
    fn device_of(&self, tensor: &Self::Tensor) -> usize;

    /// Returns `tensor` on the device of this number.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if there is no such device; if a device fails.
    fn to_device(&self, tensor: &Self::Tensor, device: usize) -> Result<Self::Tensor, Self::Error>;
}
