//! ResNet-18 and ResNet-50 on a folder of images, with the flags of Apex's `examples/imagenet/main_amp.py`.
//!
//! `cargo run --release --example imagenet` trains on a folder of generated pictures, `-- DIR` on any folder with `train/CLASS/` and
//! `val/CLASS/`. The training loop is in `trainer.rs`, the model in `model`, the loader in `data`.

pub mod args;
mod checkpoint;
pub mod data;
mod job;
pub mod meter;
pub mod model;
mod pretrained;
mod ranks;
pub mod report;
pub mod schedule;
pub mod session;
mod trainer;

pub use binade_example_shared::program::Result;
