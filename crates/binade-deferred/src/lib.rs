#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod autocast;
mod deferred;
mod error;
mod gradients;
mod late;
mod masters;
mod ops;
mod queue;
mod scaler;
mod stand_in;
mod tensor;

pub use deferred::{Deferred, Window};
pub use error::Error;
pub use gradients::Gradients;
pub use masters::Masters;
pub use scaler::{Found, Scale};
pub use tensor::Tensor;
