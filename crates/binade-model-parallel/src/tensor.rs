//! Tensors with the number of their device.

/// Tensor of one device of a [`ModelParallel`](crate::ModelParallel).
#[derive(Clone, Debug)]
pub struct DeviceTensor<T> {
    pub(crate) tensor: T,
    pub(crate) device: usize,
}

impl<T> DeviceTensor<T> {
    /// Returns the device's own tensor.
    pub fn tensor(&self) -> &T {
        &self.tensor
    }

    /// Returns the number of the tensor's device.
    pub fn device(&self) -> usize {
        self.device
    }
}
