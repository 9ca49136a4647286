//! One run: trains a model at a level, tests it, and keeps the books.

use crate::args::Args;
use crate::config::{self, Setting};
use crate::data::{CLASSES, Digits, Images, PIXELS};
use crate::model::{Computes, Net};
use crate::record::{Bytes, Run, Scale, Steps};
use binade::core::{DType, Error as _, Handle, Named, NamedGrads};
use binade::grad_scaler::{
    BadMicroBatch, GradOps, GradScaler, LossScaleError, ScaleStore, Scaler, Step, UnscaledGrads,
};
use binade::master_weights::{MasterOptimizer, MasterWeights, Memory};
use binade::{Amp, InitError, Model, initialize};
use binade_ops::{Add, CrossEntropy, Download, Fill, Mul, Upload};
use binade_tape::{Tape, TapeError, Taped, Var};
use indicatif::ProgressBar;
use std::time::Instant;

/// What training needs a device for.
pub trait Trains:
    Computes
    + CrossEntropy
    + Mul
    + Download
    + GradOps<Scale: Send + Sync + 'static, Grads: From<NamedGrads<Self::Tensor>>>
    + MasterWeights<
        Params = Vec<Named<Self::Tensor>>,
        Grads = <Self as GradScaler>::Grads,
        Found = <Self as ScaleStore>::Found,
    >
{
}

impl<D> Trains for D where
    D: Computes
        + CrossEntropy
        + Mul
        + Download
        + GradOps<Scale: Send + Sync + 'static, Grads: From<NamedGrads<Self::Tensor>>>
        + MasterWeights<
            Params = Vec<Named<Self::Tensor>>,
            Grads = <Self as GradScaler>::Grads,
            Found = <Self as ScaleStore>::Found,
        >
{
}

/// Why a run could not be done.
#[derive(Debug, thiserror::Error)]
pub enum TrainError<E: std::error::Error + 'static> {
    /// The loss scale asked for is none.
    #[error(transparent)]
    LossScale(#[from] LossScaleError),
    /// The model could not be set up.
    #[error(transparent)]
    Init(#[from] InitError<TapeError<E>>),
    /// The device or the policy refused something.
    #[error(transparent)]
    Tape(#[from] TapeError<E>),
}
