//! Digits classifier, trained at every opt level on real data.
//!
//! `cargo run --release --example digits` trains it on embedded digits, `-- --data DIR` on files of MNIST's format, which
//! `../shared/data/README.md` describes. [`session::run`] does all runs, [`train::run`] one of them; the training loop itself is
//! in `trainer.rs`.

pub mod args;
pub mod check;
pub mod config;
pub mod data;
#[cfg(feature = "cuda")]
pub mod gpus;
pub mod model;
mod notice;
pub mod ranks;
pub mod record;
mod saved;
pub mod session;
pub mod table;
pub mod train;
mod trainer;

pub use binade_example_shared::program::Result;
