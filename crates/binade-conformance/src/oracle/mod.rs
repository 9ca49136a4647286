//! What each operation means: one element at a time, one screen each, independent of everything they judge.
//!
//! Speed is no concern here, and neither is sharing code: an oracle is right because it can be read beside its
//! definition.

pub mod accumulate;
pub mod adam;
pub mod cast;
pub mod clip;
pub mod clip_groups;
pub mod delayed;
pub mod follow;
pub mod iterate;
pub mod kahan;
pub mod matmul;
pub mod mean;
pub mod merge;
pub mod norm;
pub mod remainder;
pub mod scale;
pub mod scale_update;
pub mod scaled_f16;
pub mod sgd;
pub mod sparse;
pub mod stochastic;
pub mod stochastic_cast;
pub mod sum;
pub mod train;
pub mod unscale;
pub mod update_each;
