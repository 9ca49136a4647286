//! Additions to the order that most loops do without: gradients unscaled at the end, and ranks.

mod delayed;
mod ranks;

pub use delayed::{DelayedUnscale, ScaledSum};
pub use ranks::{Pass, join_ranks};
