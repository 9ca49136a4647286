//! One value a device.

use crate::{CudaError, Error};

/// One value for each device of [`Replicas`](crate::Replicas), in their order: parameters and masters, which are alike on all, or a
/// batch of which each device has its own rows.
#[derive(Clone, Debug)]
pub struct Parts<T>(pub Vec<T>);

impl<T> Parts<T> {
    /// Returns the part on the device at `place`.
    pub(super) fn on(&self, place: usize) -> Result<&T, Error> {
        self.0.get(place).ok_or_else(|| absent(self.0.len(), place))
    }

    pub(super) fn on_mut(&mut self, place: usize) -> Result<&mut T, Error> {
        let found = self.0.len();
        self.0.get_mut(place).ok_or_else(|| absent(found, place))
    }
}

/// Error of a list of so many parts, which has none for the device at `place`.
pub(super) fn absent(found: usize, place: usize) -> Error {
    Error::Driver(CudaError::Parts { found, devices: place + 1 })
}
