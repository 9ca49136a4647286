//! What the examples share, and no backend: the digits, the first weights of their model, and the task that
//! every way of training it is given, with the row of the table that it gives back. And the program around a run of the kit.

pub mod data;
pub mod first;
pub mod five_ways;
#[cfg(feature = "kit")]
pub mod kit;
pub mod mlp;
