//! Whole steps captured as CUDA graphs, and replayed.
//!
//! Two warm-up runs fill an arena, which serves the lowest free number of a size first. The third run is captured, and served
//! from the arena alone. So equal requests in equal order get equal addresses. The captured run is compared with the last
//! warm-up, operation by operation, with every address and value. A value that the host would change from step to step differs
//! there, and is an error before it can be replayed.
//!
//! Work for a stream is checked and enqueued in one turn at the stream's gate, which all handles of the stream share. A capture begins and ends
//! between turns, so that it records only the captured run's work. When it ends, the pool reserves the graph's addresses in the same moment, so that
//! none is dropped in between.

mod arena;
mod captured;
mod error;
mod gate;
mod recorder;
mod run;
mod stages;

pub(crate) use arena::ArenaSlot;
pub use captured::Captured;
pub use error::CaptureError;
pub(crate) use gate::Gate;
pub(crate) use recorder::{Recorder, Reservation, words};
pub use stages::Capture;
