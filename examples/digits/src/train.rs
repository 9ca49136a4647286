//! One run: trains a model at a level, tests it, and records figures.

use crate::args::Args;
use crate::config::Setting;
use crate::data::Digits;
use crate::model::Computes;
use crate::record::Run;
use crate::trainer::Trainer;
use binade::InitError;
use binade::core::{Handle, Named};
use binade::grad_scaler::LossScaleError;
use binade::master_weights::{MasterWeights, Snapshot};
use binade_checkpoint::{FileError, RestoreError, SaveError};
use binade_ops::{CrossEntropy, Download, Mul};
use binade_tape::{ScalingDevice, TapeError};
use indicatif::ProgressBar;
use std::time::Instant;

/// Device that has what training needs.
pub trait Trains:
    Computes
    + CrossEntropy
    + Mul
    + Download
    + ScalingDevice
    + Snapshot
    + MasterWeights<Params = Vec<Named<<Self as Handle>::Tensor>>>
{
}

impl<D> Trains for D where
    D: Computes
        + CrossEntropy
        + Mul
        + Download
        + ScalingDevice
        + Snapshot
        + MasterWeights<Params = Vec<Named<<Self as Handle>::Tensor>>>
{
}

/// Reason why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum TrainError<E: std::error::Error + 'static> {
    /// Loss scale of the command line that is invalid.
    #[error(transparent)]
    LossScale(LossScaleError),
    /// Model that could not be initialised.
    #[error(transparent)]
    Init(#[from] InitError<E>),
    /// State that could not be saved.
    #[error("--checkpoint: {0}")]
    Save(#[from] SaveError<E>),
    /// Checkpoint file that could not be written.
    #[error("--checkpoint: {0}")]
    Write(FileError),
    /// Checkpoint file that could not be read.
    #[error("--resume: {0}")]
    Read(FileError),
    /// Checkpoint of another run.
    #[error("--resume: {0}")]
    Resume(#[from] RestoreError<E>),
    /// Refusal by the device or the policy.
    #[error(transparent)]
    Tape(#[from] TapeError<E>),
}

impl<E: std::error::Error + 'static> From<E> for TrainError<E> {
    fn from(error: E) -> Self {
        Self::Tape(error.into())
    }
}

/// Trains and tests `setting` on `device`. Each step's outcome is resolved, unless `args` say that nobody watches: the
/// scale is then read once, at the end.
///
/// # Errors
///
/// If the command line asks for something impossible, or the device refuses.
pub fn run<D: Trains>(
    device: &D,
    args: &Args,
    setting: Setting,
    digits: &Digits,
    bar: &ProgressBar,
) -> Result<Run, TrainError<D::Error>> {
    let started = Instant::now();
    let mut trainer = Trainer::new(device, args, setting, digits.train.size)?;
    trainer.resume(&digits.train, bar)?;
    while trainer.epochs() < args.epochs {
        if trainer.epoch(&digits.train, bar)?.is_break() {
            break;
        }
    }
    let accuracy = trainer.accuracy(&digits.test)?;
    let (data, seconds) = (digits.source(), started.elapsed().as_secs_f64());
    Ok(Run { accuracy, seconds, data, ..trainer.into_run(setting)? })
}
