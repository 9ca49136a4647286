//! Whole steps captured as CUDA graphs, and replayed.
//!
//! Two warm-up runs fill an arena, in which the lowest free number of a size is served first; the third run is captured and
//! served from it alone, so that the same requests in the same order get the same addresses. What the captured run does is held
//! to what the last warm-up did, operation by operation with every address and value: whatever the host would change from step
//! to step shows there, and is an error before it can be replayed.

mod arena;
mod captured;
mod later;
mod recorder;
mod run;
mod stages;
mod uses;
mod why;

pub(crate) use arena::Home;
pub use captured::Captured;
pub(crate) use later::{Later, Sent};
pub(crate) use recorder::{Recorder, Served, words};
pub use stages::Capture;
pub use why::Uncapturable;
