//! Gradients as values: all factors multiplied in, in `f32`.

use super::{Factors, Gradients};
use crate::{Kernels, Result};

impl<D: Kernels> Gradients<D> {
    /// Returns the set with nothing left to multiply: new `f32` tensors, their elements brought within `limit`.
    ///
    /// # Errors
    ///
    /// [`Foreign`](crate::Error::Foreign) for another handle's set; where the device fails or has no room.
    pub fn settled(&self, device: &D, limit: f32) -> Result<Self, D> {
        self.settled_by(device, None, limit)
    }

    /// Returns the set as [`settled`](Self::settled) does, with the factors of groups multiplied in last.
    ///
    /// # Errors
    ///
    /// As for [`settled`](Self::settled).
    pub fn settled_by(
        &self,
        device: &D,
        factors: Option<&Factors<'_, D>>,
        limit: f32,
    ) -> Result<Self, D> {
        self.check_owner(device)?;
        let entries = self.unset_f32(device)?;
        device.launch_materialise(self, &entries, factors, limit)?;
        Ok(Self { entries, present: self.present.clone(), owed: None, is_measured: false })
    }
}
