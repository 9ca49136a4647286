//! Additions to the order that most loops do without: gradients unscaled at the end, ranks, replay.

mod delayed;
mod ranks;
mod replay;
mod trajectory;

pub use delayed::{DelayedUnscale, ScaledSum};
pub use ranks::{Pass, join_ranks, reduce_on_host};
pub use replay::{DivergenceKind, ReplayDivergence, ReplayScales};
pub(crate) use trajectory::RecordedStep;
pub use trajectory::Trajectory;
