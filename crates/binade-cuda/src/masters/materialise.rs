//! Gradients and their verdict for optimizers that expect plain tensors.

use crate::{Cuda, Error, Found, Gradients, Tensor, launch::structs::FoundBits};
use binade_core::{Named, NoGradients};
use binade_master_weights::Materialise;

impl Materialise for Cuda {
    /// Waits for the device.
    fn is_raised(&self, found: &Found) -> Result<bool, Error> {
        self.has_made(found.buffer())?;
        let bytes = self.read(found.buffer())?;
        let bits: FoundBits = bytemuck::pod_read_unaligned(&bytes);
        Ok(bits.raised != 0 || bits.halted != 0)
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
