#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod agreement;
mod arithmetic;
mod case;
pub mod cases;
mod compute;
mod difference;
mod exchange;
mod loops;
mod macros;
mod operation;
pub mod oracle;
pub mod report;
mod runner;
mod stored;
mod subject;
mod suite;
#[doc(hidden)]
pub mod testing;
pub mod via;

/// The crates whose words a subject uses, so that this one is all that a test has to import.
#[doc(no_inline)]
pub use {binade_core, binade_grad_scaler, binade_master_weights, binade_ops};

pub use agreement::{Agreement, Comparison, Wanted};
pub use arithmetic::Arithmetic;
pub use case::{Case, Cases, Check, Failure, Stop, Verdict};
pub use compute::Compute;
pub use difference::Difference;
pub use exchange::{
    Clip, Course, Iteration, Joined, MicroBatch, Pass, Round, Stage, Turn, Unscaled,
};
pub use loops::{
    Coalesce, Collected, Coordinates, Delayed, DelayedPass, Led, Losses, Meet, Walked,
};
pub use operation::Operation;
pub use report::{Outcome, Record, Report, Row};
pub use runner::Runner;
pub use stored::Stored;
pub use subject::{Refusal, Subject};
pub use suite::Suite;
