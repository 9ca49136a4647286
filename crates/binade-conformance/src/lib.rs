#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod agreement;
mod arithmetic;
mod backend;
mod case;
mod cases;
mod contract;
pub mod counting;
mod device;
mod difference;
mod error;
mod group;
mod layout;
pub mod report;
mod runner;
mod runs;
mod stored;
mod subject;
#[cfg(test)]
mod tests;

/// Crates whose types a subject uses, re-exported so that a manifest need not name them.
pub use binade_core as core;
pub use binade_core::ops;
pub use binade_core::ops::OpInvocation;
pub use binade_grad_scaler as grad_scaler;
pub use binade_master_weights as master_weights;

pub use agreement::Agreement;
pub use arithmetic::Arithmetic;
pub use case::Failure;
pub use contract::Sentence;
pub use device::{
    LookupGrad, SetCall, SetResult, SparseBatch, SparseResult, SparseRun, compute, multi_tensor,
    sparse,
};
pub use error::{Result, SubjectError};
pub use group::CaseGroup;
pub use layout::Layout;
pub use report::{Outcome, Record, Report};
pub use runner::Runner;
pub use subject::{Subject, TensorOf, TrainingDevice};

use agreement::Expected;
use backend::{Backend, Tensor};
use case::{Case, CaseError, Cases, Check, Verdict};
use difference::Difference;
use runs::{
    Clip, Iteration, IterationFindings, IterationResult, MergeResult, MicroBatch, PassFinding,
    ScaleTrace, TrainStep, UnscaleResult,
};
use stored::Stored;
