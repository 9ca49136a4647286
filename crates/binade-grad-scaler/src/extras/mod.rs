//! Additions to the order that most loops do without: gradients unscaled at the end.

mod delayed;

pub use delayed::{DelayedUnscale, ScaledSum};
