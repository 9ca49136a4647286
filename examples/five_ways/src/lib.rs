//! Perceptron of the digits, trained by the ways that need no framework: the tape, a tensor of one's own, and plain slices.
//!
//! candle's way and burn's are in their own examples, and their rows stand below these in the README's table. Everyone is given
//! the same [`Task`](binade_example_shared::five_ways::Task).

mod loss;
pub mod own_tensor;
pub mod slices;
pub mod tape;

/// Result of a way.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
