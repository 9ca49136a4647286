//! One run: trains a model at a level, tests it, and keeps the books.

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

/// What training needs a device for.
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

/// Why a run could not be done.
#[derive(Debug, thiserror::Error)]
pub enum TrainError<E: std::error::Error + 'static> {
    /// The loss scale asked for is none.
    #[error(transparent)]
    LossScale(LossScaleError),
    /// The model could not be set up.
    #[error(transparent)]
    Init(#[from] InitError<E>),
    /// The run could not be saved.
    #[error("--checkpoint: {0}")]
    Save(#[from] SaveError<E>),
    /// The file could not be written.
    #[error("--checkpoint: {0}")]
    Write(FileError),
    /// The file could not be read.
    #[error("--resume: {0}")]
    Read(FileError),
    /// The file is of another run.
    #[error("--resume: {0}")]
    Resume(#[from] RestoreError<E>),
    /// The device or the policy refused something.
    #[error(transparent)]
    Tape(#[from] TapeError<E>),
}

impl<E: std::error::Error + 'static> From<E> for TrainError<E> {
    fn from(error: E) -> Self {
        Self::Tape(error.into())
    }
}

/// Trains and tests `setting` on `device`. Where `watched`, each step's outcome is resolved; elsewhere the scale is read
/// once, at the end.
///
/// # Errors
///
/// When the command line asks for what cannot be, or the device refuses.
pub fn run<D: Trains>(
    device: &D,
    args: &Args,
    setting: Setting,
    digits: &Digits,
    watched: bool,
    bar: &ProgressBar,
) -> Result<Run, TrainError<D::Error>> {
    let started = Instant::now();
    let mut trainer = Trainer::new(device, args, setting, digits.train.size, watched)?;
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
