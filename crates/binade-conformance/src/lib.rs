#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod agreement;
mod arithmetic;
mod case;
pub mod cases;
mod exchange;
mod loops;
mod operation;
pub mod oracle;
mod report;
mod runner;
mod stored;
mod subject;
pub mod via;

pub use agreement::{Agreement, Comparison, Wanted};
pub use arithmetic::Arithmetic;
pub use case::{Case, Check, Failure, Stop, Suite, Verdict};
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
