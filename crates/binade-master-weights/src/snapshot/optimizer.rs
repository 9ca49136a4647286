//! Snapshots of a whole optimizer.

use super::{LoadError, SavedParameter, Snapshot, check_saved_slices};
use crate::MasterOptimizer;
use binade_core::Named;

impl<D: Snapshot> MasterOptimizer<D> {
    /// Every parameter with its master, moments and count of applied steps. Waits for the device.
    ///
    /// # Errors
    ///
    /// When the device fails, or refuses to be read.
    pub fn save(&self) -> Result<Vec<SavedParameter>, D::Error> {
        self.device().save(&self.params, self.masters())
    }

    /// Checks that [`load`](Self::load) would accept `saved`.
    ///
    /// # Errors
    ///
    /// The errors of `load`.
    pub fn check_load(&self, saved: &[SavedParameter]) -> Result<(), LoadError<D::Error>> {
        let specs = self.device().specs(&self.params, self.masters()).map_err(LoadError::Device)?;
        check_saved_slices(&specs, saved, |name, elements| self.device().slice(name, elements))?;
        Ok(())
    }

    /// Restores the output of [`save`](Self::save). The configuration is not part of it.
    ///
    /// # Errors
    ///
    /// When `saved` does not fit; nothing has changed then. When the device fails.
    pub fn load(&mut self, saved: &[SavedParameter]) -> Result<(), LoadError<D::Error>> {
        let (device, params, masters) = self.parts();
        device.load(params, masters, saved)
    }
    /// Every parameter by name, in `f32`: its master's values where it has one. See [`Snapshot::export_f32`].
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn export_f32(&self) -> Result<Vec<Named<Vec<f32>>>, D::Error> {
        self.device().export_f32(&self.params, self.masters())
    }
}
