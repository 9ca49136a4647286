//! A digits classifier, trained at every opt level on real data.
//!
//! `cargo run --release --example digits` runs it on the digits that it carries, `-- --data DIR` on files of MNIST's
//! format, which `../shared/data/README.md` tells of. [`session::run`] is what it does, [`train::run`] one run of it; the loop itself
//! is in `trainer.rs`.

pub mod args;
mod book;
pub mod check;
pub mod config;
pub mod data;
pub mod model;
mod notice;
mod parse;
mod place;
pub mod record;
pub mod session;
pub mod table;
pub mod train;
mod trainer;
