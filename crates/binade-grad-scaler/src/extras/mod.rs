//! Additions to the order that most loops do without: gradients unscaled at the end, ranks, replay, sparse gradients.

mod delayed;
mod ranks;
mod replay;
mod sparse;
mod trajectory;

pub use delayed::{DelayedUnscale, ScaledSum};
pub use ranks::{Pass, join_ranks, reduce_on_host};
pub use replay::{DivergenceKind, ReplayDivergence, ReplayScales};
pub use sparse::{SparseError, SparseGrad};
pub use trajectory::{RecordedStep, RecordedUpdate, Trajectory};
