//! Gradients and their verdict for optimizers that expect plain tensors.

use crate::{Cuda, Error, Found, Gradients, Tensor};
use binade_core::{Named, NoGradients};
use binade_grad_scaler::{ScaleState, ScaleStore};
use binade_master_weights::Materialise;

impl Materialise for Cuda {
    type Grads = Gradients;
    type Found = Found;

    /// Waits for the device.
    fn is_raised(&self, found: &Found) -> Result<bool, Error> {
        let any = self.upload_state(ScaleState::power_of_two(0))?;
        let (findings, _) = ScaleStore::read(self, &[found], &any)?;
        Ok(findings.iter().any(binade_core::Finding::is_raised))
    }

    /// A gradient of a window that only bad micro-batches had is zeros: whether it is there, the device knows.
    fn materialise(&self, grads: Gradients) -> Result<Vec<Named<Option<Tensor>>>, Error> {
        Ok(grads.settled(self, f32::INFINITY)?.entries)
    }

    fn no_gradients(&self, error: NoGradients) -> Error {
        error.into()
    }
}
