#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod agreement;
mod arithmetic;
mod case;
pub mod cases;
mod contract;
pub mod counting;
mod difference;
mod exchange;
mod group;
mod layout;
mod loops;
mod macros;
pub mod report;
mod runner;
mod stored;
mod subject;
#[doc(hidden)]
pub mod testing;
pub mod via;

/// What a subject is told and asked in, so that this crate can be the only one that a manifest names.
pub use binade_core as core;
pub use binade_grad_scaler as grad_scaler;
pub use binade_master_weights as master_weights;
pub use binade_ops as ops;
pub use binade_ops::OpInvocation;

pub use agreement::{Agreement, Comparison, Wanted};
pub use arithmetic::Arithmetic;
pub use case::{Case, Cases, Check, Failure, Stop, Verdict};
pub use contract::Sentence;
pub use difference::Difference;
pub use exchange::{
    Clip, Course, Iteration, Joined, MicroBatch, Pass, Round, Stage, Turn, Unscaled,
};
pub use group::CaseGroup;
pub use layout::Layout;
pub use loops::{
    Coalesce, Collected, Coordinates, Delayed, DelayedPass, Led, Losses, Meet, Walked,
};
pub use report::{Outcome, Record, Report, Row};
pub use runner::Runner;
pub use stored::Stored;
pub use subject::{Refusal, Subject};
