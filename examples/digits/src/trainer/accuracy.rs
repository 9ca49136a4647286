//! Share of images that a model classifies right.

use super::Trainer;
use crate::Result;
use crate::data::{CLASSES, Images, best};
use crate::model::Trains;
use binade_tape::Tape;

/// Number of images that go through the model together: all 360 of the embedded test, and of MNIST's 10000 as many as a small
/// machine has memory for.
const TOGETHER: usize = 500;

impl<D: Trains> Trainer<'_, D> {
    /// Returns the share of images whose largest logit is their label's.
    pub(crate) fn accuracy(&mut self, images: &Images) -> Result<f32> {
        let places: Vec<usize> = (0..images.len()).collect();
        let mut right = 0;
        for part in places.chunks(TOGETHER) {
            right += self.right(&images.pick(part))?;
        }
        #[expect(clippy::cast_precision_loss, reason = "a few thousand images")]
        Ok(right as f32 / images.len() as f32)
    }

    /// Returns the number of such images.
    fn right(&mut self, images: &Images) -> Result<usize> {
        let tape = Tape::new(self.device.clone(), &self.amp.region).no_grad();
        let params = tape.parameters(&self.amp.optimizer.params);
        let (pixels, _) = self.upload(images)?;
        let logits = self.net.forward(&params, &tape.constant(pixels), false)?;
        let logits = self.device.download(logits.tensor())?;
        let rows = logits.chunks_exact(CLASSES).zip(&images.labels);
        Ok(rows.filter(|(row, label)| best(row) == usize::try_from(**label).ok()).count())
    }
}
