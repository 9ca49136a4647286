//! Arguments of the command line.

use binade::core::DType;
use binade::grad_scaler::LossScale;
use binade_example_shared::program::{DeviceKind, Levels, parse};
use clap::{Parser, ValueEnum};
use std::path::PathBuf;

/// Trains a digits classifier at every opt level and tells the precision story in one table.
#[derive(Clone, Debug, Parser)]
#[command(name = "digits", version, max_term_width = 100, args_override_self = true, after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct Args {
    /// Opt level: O0, O1, O2, O3, or all.
    #[arg(long, default_value = "all", value_name = "LEVEL")]
    pub level: Levels,
    /// The low type; both if left out (at O3 f16 alone). O0 has none.
    #[arg(long, value_name = "TYPE", value_parser = parse::low_type())]
    pub dtype: Option<DType>,
    /// Device to train on.
    #[arg(long, default_value = "cpu")]
    pub device: DeviceKind,
    /// Model to train.
    #[arg(long, default_value = "cnn")]
    pub model: ModelKind,
    /// Update rule to train it by.
    #[arg(long, default_value = "adamw", value_name = "RULE")]
    pub optimizer: OptimizerKind,
    /// Trains on MNIST, or on a set in its format, from this folder, in place of the embedded digits. Its names are
    /// train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, plain or .gz.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Passes over the training images: 1437 embedded ones, or those of --data.
    #[arg(long, default_value_t = 15, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub epochs: u32,
    /// Images a micro-batch; no more than there are to train on.
    #[arg(long, default_value_t = 32, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..))]
    pub batch: u32,
    /// Learning rate; 0.05 for sgd, 0.004 for the others if left out.
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = parse::above_zero::<f64>)]
    pub lr: Option<f64>,
    /// Fixes the split of the embedded digits, the order of images and the first weights.
    #[arg(long, default_value_t = 0, value_name = "N", allow_negative_numbers = true)]
    pub seed: u64,
    /// Micro-batches a step: their gradients are summed in f32.
    #[arg(long, default_value_t = 1, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=64))]
    pub accumulate: u32,
    /// Clips gradients to this L2 norm.
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = parse::above_zero::<f32>)]
    pub clip_norm: Option<f32>,
    /// Loss-scale rule at levels that scale (O1 and O2 in f16): a library's rule, with its own numbers.
    #[arg(long, value_name = "RULE", value_parser = parse::loss_scale())]
    pub loss_scale: Option<LossScale>,
    /// The first loss scale where the level scales (O1 and O2 in f16); the rule's own, or 2^16, if left out.
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = parse::scale)]
    pub init_scale: Option<f32>,
    /// Good steps between doublings of the loss scale. If left out, that of --loss-scale, or 100, to see it move in so short a
    /// run.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub growth_interval: Option<u32>,
    /// Makes a gradient infinite at this step, counted from 1, to watch the skip.
    #[arg(long, value_name = "STEP", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub inject_overflow: Option<u64>,
    /// Trains on N ranks, which are threads: 1, 2, 4 or 8. Each has a part of the 8 shards of every batch, and any N ends with the same
    /// weights. Losses in the table are of rank 0's part. With --device cuda each rank is a GPU, with one part of every batch.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub ranks: Option<u32>,
    /// Keeps on each rank its slice of averages, masters and moments alone; weights end the same.
    #[arg(long)]
    pub slices: bool,
    /// Sends gradients to the other ranks while backward goes on. The weights are the same as without.
    #[arg(long)]
    pub overlap: bool,
    /// Normalises the images of all ranks as one batch, as torch's `SyncBatchNorm` does: each rank then has one part of every batch, and
    /// any number of ranks trains alike but for roundings.
    #[arg(long)]
    pub sync_bn: bool,
    /// Saves after each epoch to this path, with a file of each rank beside it, and goes on from there if it is there: on any number of
    /// ranks, with the same bits. It takes one level and one low type.
    #[arg(long, value_name = "PATH")]
    pub checkpoint_by_rank: Option<PathBuf>,
    /// Looks at no step, so that none waits for the device; the scale is read once, at the end.
    #[arg(long)]
    pub unwatched: bool,
}

const EXAMPLES: &str = "\
Examples:
  digits                                     every level, one table
  digits --level O2 --dtype f16 --seed 3     one level, another split
  digits --level O1 --inject-overflow 20     what a skipped step looks like
  digits --data mnist --epochs 1             MNIST, from the files in the folder mnist
  digits --level O2 --loss-scale log-max     a scale that is predicted from the largest gradients
  digits --level O1 --init-scale 2^30        a scale that has to come down
  digits --model mlp --ranks 4               data-parallel training on four threads
  digits --model mlp --ranks 4 --slices      the same, with a quarter of masters and moments on each
  digits --ranks 4 --sync-bn                 the same of the model with batch normalisation
  digits --ranks 2 --device cuda             on two GPUs, which copy gradients from each other
  digits --model mlp --level O2 --dtype f16 --ranks 4 --slices --checkpoint-by-rank run.safetensors
                                             saved after each epoch, and resumed from there";

/// Model to train.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum ModelKind {
    /// Three linear layers.
    Mlp,
    /// Two convolutions with batch normalisation, one linear layer.
    Cnn,
}

/// Update rule to train the model by.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum OptimizerKind {
    /// Stochastic gradient descent with momentum 0.9.
    Sgd,
    /// Adam.
    Adam,
    /// Adam with decoupled weight decay.
    Adamw,
    /// Adam that divides by the largest mean of squares so far.
    Amsgrad,
}
