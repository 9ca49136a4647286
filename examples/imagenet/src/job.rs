//! Run that is asked for: its images, its sizes, and what follows from them.

use crate::args::{Args, Sizes};
use crate::data::Data;
use binade::core::DType;
use binade::master_weights::{Sgd, UpdateRule};
use binade::{OptLevel, Properties};

/// Run that is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Job<'j> {
    pub(crate) args: &'j Args,
    pub(crate) sizes: Sizes,
    pub(crate) data: &'j Data,
}

impl Job<'_> {
    /// Returns the number of steps of an epoch. A rest of less than two images for each rank waits for another epoch.
    pub(crate) fn epoch_steps(&self) -> u64 {
        let (images, batch) = (self.data.train.len(), self.sizes.batch);
        let rest = images % batch >= 2 * self.args.ranks();
        (images / batch + usize::from(rest)) as u64
    }

    /// Returns the number of steps of the whole run.
    pub(crate) fn steps(&self) -> u64 {
        let all = self.epoch_steps() * u64::from(self.sizes.epochs);
        self.args.steps.map_or(all, |steps| all.min(steps.into()))
    }

    /// Returns the level, with the parts that the command line changes.
    pub(crate) fn properties(&self) -> Properties {
        let Args { opt_level, dtype, keep_batchnorm_fp32, loss_scale, .. } = self.args;
        let level = opt_level.with(if *opt_level == OptLevel::O0 { DType::F32 } else { *dtype });
        Properties {
            keep_norm_f32: keep_batchnorm_fp32.or(level.keep_norm_f32),
            loss_scale: loss_scale.unwrap_or(level.loss_scale),
            ..level
        }
    }

    /// Returns SGD with this decay, at the highest learning rate.
    pub(crate) fn rule(&self, weight_decay: f64) -> UpdateRule {
        let momentum = self.args.momentum;
        UpdateRule::Sgd(Sgd {
            lr: self.peak(),
            momentum,
            dampening: 0.0,
            weight_decay,
            nesterov: false,
        })
    }

    /// Returns the highest learning rate, in proportion to the images of a step.
    #[expect(clippy::cast_precision_loss, reason = "a few thousand images")]
    pub(crate) fn peak(&self) -> f64 {
        self.args.lr * self.sizes.batch as f64 / 256.0
    }
}
