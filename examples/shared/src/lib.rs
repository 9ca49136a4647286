//! Parts shared by the examples, without a backend: the digits, the first weights of their model, the task of the five-ways table
//! with its rows, and the program around a run of the kit.

pub mod data;
pub mod first;
pub mod five_ways;
#[cfg(feature = "kit")]
pub mod kit;
pub mod mlp;
