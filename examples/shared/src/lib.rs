//! Parts shared by the examples: the digits, the first weights of models, the task of the five-ways table with its rows, and, by
//! features, the program around a run of the kit, the parts of a program that trains at every level,
//! and the harness of tests on a device.

#[cfg(feature = "agree")]
pub mod agree;
pub mod data;
pub mod first;
pub mod five_ways;
#[cfg(feature = "kit")]
pub mod kit;
pub mod mlp;
#[cfg(feature = "program")]
pub mod program;
#[cfg(feature = "ranks")]
pub mod ranks;
