//! Character-level GPT, trained at any opt level on a text.
//!
//! `cargo run --release --example gpt` trains it on two plays of Shakespeare's, `-- --text FILE` on any text. [`session::run`] does all
//! runs; the training loop is in `trainer.rs`, the model in `model.rs`.

pub mod args;
mod checkpoint;
mod model;
pub mod report;
mod schedule;
pub mod session;
mod text;
mod trainer;

pub use binade_example_shared::program::Result;
