//! Arguments of the command line.

use binade::core::DType;
use binade_example_shared::program::{DeviceKind, Levels, parse};
use clap::{Parser, value_parser};
use std::path::PathBuf;

/// Trains a character-level GPT, and prints its loss curve and a sample of text.
#[derive(Clone, Debug, Parser)]
#[command(name = "gpt", version, max_term_width = 100, args_override_self = true, after_help = EXAMPLES)]
#[command(allow_negative_numbers = true)]
pub struct Args {
    /// Opt level: O0, O1, O2, O3, or all.
    #[arg(long, default_value = "O1", value_name = "LEVEL")]
    pub level: Levels,
    /// The low type. O0 has none.
    #[arg(long, default_value = "f16", value_name = "TYPE", value_parser = parse::low_type())]
    pub dtype: DType,
    /// Device to train on.
    #[arg(long, default_value = "cpu")]
    pub device: DeviceKind,
    /// Trains on this text, whose last tenth is for validation, in place of the embedded plays.
    #[arg(long, value_name = "FILE")]
    pub text: Option<PathBuf>,
    /// Blocks of attention and perceptron.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = value_parser!(u32).range(1..=64))]
    pub layers: u32,
    /// Heads of each attention.
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = value_parser!(u32).range(1..=64))]
    pub heads: u32,
    /// Features of a character; a multiple of twice the heads.
    #[arg(long, default_value_t = 96, value_name = "N", value_parser = value_parser!(u32).range(2..=8192))]
    pub width: u32,
    /// Characters that the model sees at once.
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = value_parser!(u32).range(2..=8192))]
    pub context: u32,
    /// Windows of text a micro-batch.
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = value_parser!(u32).range(1..=4096))]
    pub batch: u32,
    /// Micro-batches a step: their gradients are summed in f32.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = value_parser!(u16).range(1..=64))]
    pub accumulate: u16,
    /// Optimizer steps.
    #[arg(long, default_value_t = 1500, value_name = "N", value_parser = value_parser!(u32).range(1..=10_000_000))]
    pub steps: u32,
    /// Steps between two validations, each a point of the loss curve; with --save each is saved.
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub every: u32,
    /// Highest learning rate: a tenth of the steps warm up to it, the others come down to a tenth of it by a cosine.
    #[arg(long, default_value_t = 3e-3, value_name = "X", value_parser = parse::above_zero::<f64>)]
    pub lr: f64,
    /// Probability of dropout.
    #[arg(long, default_value_t = 0.05, value_name = "P", value_parser = probability)]
    pub dropout: f32,
    /// Clips gradients to this L2 norm.
    #[arg(long, default_value_t = 1.0, value_name = "X", value_parser = parse::above_zero::<f32>)]
    pub clip_norm: f32,
    /// Keeps each block's input alone, and computes the block again in backward: less memory, more time, the same bits.
    #[arg(long)]
    pub recompute: bool,
    /// Fixes the first weights, the order of windows, dropout and the sample.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u32,
    /// Saves a checkpoint in this file at each validation.
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Resumes the run of this checkpoint, to the bit.
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Characters of the sample.
    #[arg(long, default_value_t = 300, value_name = "N")]
    pub sample: u32,
    /// Temperature of the sample: its logits are divided by this.
    #[arg(long, default_value_t = 0.8, value_name = "X", value_parser = parse::above_zero::<f32>)]
    pub temperature: f32,
    /// Draws the loss curves in this file.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  gpt                                        level O1 in f16, about two minutes
  gpt --level all --dtype bf16 --svg a.svg   every level, one table, one picture
  gpt --text book.txt --context 128          another text
  gpt --save a.ckpt                          a checkpoint at each validation
  gpt --resume a.ckpt --save a.ckpt          goes on where it was interrupted";

fn probability(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|p| (0.0..1.0).contains(p));
    number.ok_or_else(|| "take a probability from 0 to below 1, such as 0.1".into())
}
