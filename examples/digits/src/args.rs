//! The command line.

use binade::OptLevel;
use binade::core::DType;
use clap::{Parser, ValueEnum};
use std::path::PathBuf;

/// Trains a digits classifier at every opt level and tells the precision story in one table.
#[derive(Clone, Debug, Parser)]
#[command(name = "digits", version, about, max_term_width = 100)]
pub struct Args {
    /// Opt level: O0, O1, O2, O3, or all of them.
    #[arg(long, default_value = "all", value_name = "LEVEL")]
    pub level: Levels,
    /// The low type; both if left out (O3 in f16 alone).
    #[arg(long)]
    pub dtype: Option<LowType>,
    /// Where to train.
    #[arg(long, default_value = "cpu")]
    pub device: DeviceKind,
    /// What to train.
    #[arg(long, default_value = "cnn")]
    pub model: ModelKind,
    /// How to train it.
    #[arg(long, default_value = "adamw")]
    pub optimizer: OptimizerKind,
    /// Passes over the training images.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    pub epochs: u32,
    /// Images a micro-batch.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(2..=1437))]
    pub batch: u32,
    /// Learning rate; by optimizer if left out (0.05 for sgd, 0.004 for adam and adamw).
    #[arg(long)]
    pub lr: Option<f64>,
    /// Fixes the split, the order of images and the first weights.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Micro-batches a step: their gradients are summed in f32.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub accumulate: u32,
    /// Clips gradients to this L2 norm.
    #[arg(long)]
    pub clip_norm: Option<f32>,
    /// The first loss scale, a power of two; at levels that scale.
    #[arg(long)]
    pub init_scale: Option<f32>,
    /// Good steps between doublings of the loss scale.
    #[arg(long)]
    pub growth_interval: Option<u32>,
    /// Makes a gradient infinite at this step, counted from 1, to watch the skip.
    #[arg(long, value_name = "STEP")]
    pub inject_overflow: Option<u64>,
    /// Writes every run's figures here.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// One level, or all.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Levels {
    /// O0 to O3.
    All,
    /// This one.
    One(OptLevel),
}

impl std::str::FromStr for Levels {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        if word.eq_ignore_ascii_case("all") {
            return Ok(Self::All);
        }
        word.parse()
            .map(Self::One)
            .map_err(|error: binade::UnknownLevel| format!("{error}, or all"))
    }
}

/// The low type.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum LowType {
    /// bfloat16.
    Bf16,
    /// IEEE half precision.
    F16,
}

impl From<LowType> for DType {
    fn from(low: LowType) -> Self {
        match low {
            LowType::Bf16 => Self::BF16,
            LowType::F16 => Self::F16,
        }
    }
}

/// Where to train.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum DeviceKind {
    /// The CPU reference.
    Cpu,
    /// The CPU, running late: nothing is read back while it trains.
    Deferred,
    /// An NVIDIA GPU.
    Cuda,
    /// Any GPU, by wgpu.
    Wgpu,
}

/// What to train.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum ModelKind {
    /// Three linear layers.
    Mlp,
    /// Two convolutions with batch normalisation, one linear layer.
    Cnn,
}

/// How to train it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum OptimizerKind {
    /// Stochastic gradient descent with momentum 0.9.
    Sgd,
    /// Adam.
    Adam,
    /// Adam with decoupled weight decay.
    Adamw,
}
