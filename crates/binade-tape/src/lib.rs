#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod autocast;
mod backward;
mod custom;
mod device;
mod double_backward;
mod error;
mod norms;
mod ops;
mod recompute;
mod record;
mod sparse;
mod tape;
mod var;

pub use custom::CustomCall;
pub use device::{Device, ScalingDevice};
pub use error::TapeError;
pub use tape::Tape;
pub use var::Var;
