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

    /// Of a window, whether a gradient is there the device knows: it is asked, which waits.
    fn materialise(&self, grads: Gradients) -> Result<Vec<Named<Option<Tensor>>>, Error> {
        let mut settled = grads.settled(self, f32::INFINITY)?;
        let Some(present) = &settled.present else { return Ok(settled.entries) };
        let words = self.read(present)?;
        let (words, _) = words.as_chunks::<4>();
        let absent = settled.entries.iter_mut().zip(words).filter(|(_, word)| **word == [0; 4]);
        absent.for_each(|(entry, _)| entry.value = None);
        Ok(settled.entries)
    }

    fn no_gradients(&self, error: NoGradients) -> Error {
        error.into()
    }
}
