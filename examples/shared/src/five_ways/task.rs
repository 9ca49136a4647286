//! Task of the table: images, their order, the first weights and the learning rate.

use crate::data::{CLASSES, Digits, Images, best};
use crate::mlp::{self, Parameter};
use binade::core::DType;
use binade::grad_scaler::LossScaleError;
use binade::{OptLevel, Properties};
use std::io;

/// Seed that fixes the split, the first weights and the order of images in the table.
pub const SEED: u64 = 7;
/// Images of a step.
pub const BATCH: usize = 32;
/// Passes over the images.
pub const EPOCHS: u64 = 30;
/// Learning rate of Adam, with betas 0.9 and 0.999, epsilon 1e-8 and no decay. It is that of fine-tuning, at which weights in
/// sixteen bits do not move: half of bf16's spacing at 0.1 is 2.4e-4.
pub const LEARNING_RATE: f64 = 1e-4;
/// Good steps between doublings of the loss scale: often enough to find the largest that fits, in 1320 steps.
pub const GROWTH_INTERVAL: u32 = 100;

/// Task that all ways get.
#[derive(Clone, Debug)]
pub struct Task {
    /// Test images, which training never sees.
    pub test: Images,
    /// First parameters, in the order of [`mlp::layout`].
    pub parameters: [Parameter; 6],
    train: Images,
    seed: u64,
    epochs: u64,
}

/// Images of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// Pixels, image after image, 64 numbers each.
    pub pixels: Vec<f32>,
    /// Labels, one an image, 0 to 9.
    pub labels: Vec<i64>,
}

impl Task {
    /// Creates the task of this seed, which fixes the split, the first weights and the order of images.
    ///
    /// # Errors
    ///
    /// If the embedded digits are damaged.
    pub fn new(seed: u64) -> io::Result<Self> {
        let Digits { train, test, .. } = Digits::embedded(seed)?;
        let parameters = mlp::parameters(train.area(), seed);
        Ok(Self { test, parameters, train, seed, epochs: EPOCHS })
    }

    /// Sets the number of epochs.
    #[must_use]
    pub fn with_epochs(self, epochs: u64) -> Self {
        Self { epochs, ..self }
    }

    /// Returns the batches of all epochs, one after the other; a rest of images waits for another epoch.
    pub fn batches(&self) -> impl Iterator<Item = Batch> {
        (0..self.epochs).flat_map(|epoch| self.epoch(epoch))
    }

    /// Returns the number of steps of an epoch.
    pub fn epoch_steps(&self) -> usize {
        self.train.len() / BATCH
    }

    fn epoch(&self, epoch: u64) -> Vec<Batch> {
        let mut order: Vec<usize> = (0..self.train.len()).collect();
        fastrand::Rng::with_seed(self.seed.wrapping_add(epoch)).shuffle(&mut order);
        let batch = |places: &[usize]| {
            let Images { pixels, labels, .. } = self.train.pick(places);
            Batch { pixels, labels }
        };
        order.chunks_exact(BATCH).map(batch).collect()
    }

    /// Returns the share of test images whose largest logit is their label's; `logits` has ten an image. A row with a NaN counts
    /// as wrong.
    ///
    /// # Panics
    ///
    /// If there are not ten an image.
    pub fn accuracy(&self, logits: &[f32]) -> f32 {
        assert_eq!(logits.len(), self.test.len() * CLASSES, "ten logits an image");
        let rows = logits.chunks_exact(CLASSES).zip(&self.test.labels);
        let right = rows.filter(|(row, label)| best(row) == usize::try_from(**label).ok()).count();
        #[expect(clippy::cast_precision_loss, reason = "a few hundred images")]
        let share = right as f32 / self.test.len() as f32;
        share
    }
}

/// Returns O0 for `f32`, and O2, weights in sixteen bits with `f32` masters, for the others. A dynamic scale has the task's
/// growth interval.
///
/// # Errors
///
/// None: the interval is valid.
pub fn properties(precision: DType) -> Result<Properties, LossScaleError> {
    let level = if precision == DType::F32 { OptLevel::O0 } else { OptLevel::O2 };
    let properties = level.with(precision);
    if properties.loss_scale.is_fixed() {
        return Ok(properties);
    }
    let scale = properties.loss_scale.with_growth_interval(GROWTH_INTERVAL)?;
    Ok(Properties { loss_scale: scale, ..properties })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_fixes_every_batch_and_no_two_epochs_are_alike() {
        let batches = |seed| Task::new(seed).unwrap().batches().take(45).collect::<Vec<_>>();
        assert_eq!(batches(1), batches(1));
        let task = Task::new(1).unwrap();
        assert_eq!(task.epoch(0).len(), task.epoch_steps());
        assert_ne!(task.epoch(0), task.epoch(1));
    }
}
