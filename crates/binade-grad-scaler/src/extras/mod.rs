//! Additions to the order that most loops do without: gradients unscaled at the end, ranks, replay.

mod delayed;
mod ranks;
mod replay;
mod trajectory;

pub use delayed::{DelayedUnscale, ScaledSum};
pub use ranks::{Pass, join_ranks};
pub use replay::{DivergenceKind, ReplayDivergence, ReplayScales};
pub use trajectory::{RecordedStep, RecordedUpdate, Trajectory};
