//! Whole steps captured as CUDA graphs, and replayed.
//!
//! Two warm-up runs fill an arena, in which the lowest free number of a size is served first; the third run is captured and
//! served from it alone, so that the same requests in the same order get the same addresses. What the captured run does is held
//! to what the last warm-up did, operation by operation with every address and value: whatever the host would change from step
//! to step shows there, and is an error before it can be replayed.
//!
//! What is put in a stream is looked at and enqueued in one turn at the stream's gate, which all handles of the stream share: a
//! capture begins and ends between turns, so that nothing but the captured run's own work is ever written down. As it ends,
//! the addresses that its graph works on are known to the pool at once, so that nothing is dropped in between.

mod arena;
mod captured;
mod gate;
mod later;
mod recorder;
mod run;
mod stages;
mod uses;
mod why;

pub(crate) use arena::Home;
pub use captured::Captured;
pub(crate) use gate::Gate;
pub(crate) use later::Sent;
pub(crate) use recorder::{Recorder, Served, words};
pub use stages::Capture;
pub use why::Uncapturable;
