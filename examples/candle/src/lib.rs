#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod alone;
mod mlp;
mod table;
mod task;

pub use alone::alone;
pub use mlp::Mlp;
pub use table::print;
pub use task::{Task, Trained};

/// Result of every recipe. The error is that of the library that noticed it.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Number of steps of a run.
pub const STEPS: usize = 200;

/// Learning rate: a twentieth of the distance between neighbours in `bf16` at the weights' size.
pub const RATE: f64 = 1e-4;
