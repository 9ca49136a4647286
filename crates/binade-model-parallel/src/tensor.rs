//! Tensors that know which device they lie on.

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

    /// Returns the number of the device that it lies on.
    pub fn device(&self) -> usize {
        self.device
    }
}
