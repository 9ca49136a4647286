//! A digits classifier, trained at every opt level on real data.
//!
//! `cargo run --release --example digits` runs it. [`train::run`] is the library's way in, for tests.

pub mod args;
mod book;
pub mod config;
pub mod data;
pub mod model;
pub mod record;
pub mod table;
pub mod train;
mod trainer;
