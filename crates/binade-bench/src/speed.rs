//! Benchmarks of the CUDA backend: work, the clock that times it, and the page of figures.

mod bench;
mod clock;
mod compare;
mod computing;
mod data;
mod gpt;
mod mlp;
mod page;
mod parts;
mod passes;
mod plan;
mod products;
mod row;
mod steps;
mod table;
mod training;
mod work;

pub use bench::{Bench, Options};
pub use page::Origin;

/// Result of a benchmark. Its error is a message for a person.
pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;
