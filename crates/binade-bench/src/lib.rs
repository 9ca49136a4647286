#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod accuracy;
pub mod cpu;
mod mlp;
mod origin;
pub mod speed;
mod training;

pub use origin::Origin;

/// Result of a benchmark. Its error is a message for a person.
pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;
