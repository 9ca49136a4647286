//! Arguments of the command line: those of `main_amp` by their names, and a few more.

use crate::model::Arch;
use binade::OptLevel;
use binade::core::DType;
use binade::grad_scaler::LossScale;
use binade_example_shared::program::{DeviceKind, parse};
use clap::{Parser, value_parser};
use std::path::PathBuf;

/// Arguments of the command line.
#[derive(Clone, Debug, Parser)]
#[command(name = "imagenet", version, max_term_width = 100, args_override_self = true, after_help = EXAMPLES)]
#[command(
    about = "Trains a ResNet on a folder of images, as Apex's main_amp.py does",
    allow_negative_numbers = true
)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line")]
pub struct Args {
    /// Folder of images, train/CLASS/*.jpg and val/CLASS/*.jpg, or .png; generated pictures of 8 classes if left out.
    #[arg(value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Writes the folder of generated pictures here, and trains nothing.
    #[arg(long, value_name = "DIR", conflicts_with = "data")]
    pub generate: Option<PathBuf>,
    /// Model to train.
    #[arg(short, long, default_value = "resnet18")]
    pub arch: Arch,
    /// Opt level: O0, O1, O2 or O3.
    #[arg(long, default_value = "O1", value_name = "LEVEL")]
    pub opt_level: OptLevel,
    /// The low type. O0 has none.
    #[arg(long, default_value = "f16", value_name = "TYPE", value_parser = parse::low_type())]
    pub dtype: DType,
    /// True or False: keeps gains and offsets of normalisations in f32, or in the low type; the level's choice if left out.
    #[arg(long, value_name = "BOOL", value_parser = boolean)]
    pub keep_batchnorm_fp32: Option<bool>,
    /// A power of two, or dynamic; the level's choice if left out.
    #[arg(long, value_name = "SCALE", value_parser = loss_scale)]
    pub loss_scale: Option<LossScale>,
    /// Keeps images as [N, H, W, C] inside the model, as Tensor Cores read them. Checkpoints are the same.
    #[arg(long)]
    pub channels_last: bool,
    /// Starts from the weights of a safetensors file with torchvision's names.
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub pretrained: Option<PathBuf>,
    /// Device to train on.
    #[arg(long, default_value = "cpu")]
    pub device: DeviceKind,
    /// Images a step, on each rank; 256, or 32 of the generated pictures, if left out.
    #[arg(short, long, value_name = "N", value_parser = value_parser!(u32).range(2..=65536))]
    pub batch_size: Option<u32>,
    /// Passes over the training images; 90, or 8 over the generated pictures, if left out.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=100_000))]
    pub epochs: Option<u32>,
    /// Stops after so many steps in all, those before a resumed checkpoint counted.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub steps: Option<u32>,
    /// Learning rate of 256 images a step: of more or fewer it is larger or smaller in proportion. It rises in the first 5 epochs, and
    /// falls to a tenth after 30, 60 and 80.
    #[arg(long, default_value_t = 0.1, value_name = "X", value_parser = parse::above_zero::<f64>)]
    pub lr: f64,
    /// Momentum of SGD.
    #[arg(long, default_value_t = 0.9, value_name = "X", value_parser = momentum)]
    pub momentum: f64,
    /// Weight decay.
    #[arg(long, visible_alias = "wd", default_value_t = 1e-4, value_name = "X", value_parser = decay)]
    pub weight_decay: f64,
    /// Leaves gains and offsets of normalisations, and biases, out of weight decay.
    #[arg(long)]
    pub no_norm_decay: bool,
    /// Starts the last gain of each block at 0, so that each block begins as the identity.
    #[arg(long)]
    pub zero_init_residual: bool,
    /// Pixels a side of the images that the model sees; 224, or 32 of the generated pictures, if left out.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(8..=4096))]
    pub image_size: Option<u32>,
    /// Channels of the first stage, each of the three others having twice as many as the one before; 64, or 16 for the generated
    /// pictures, if left out.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1024))]
    pub width: Option<u32>,
    /// Threads that load images, divided among the ranks. Their number changes no batch.
    #[arg(short = 'j', long, default_value_t = 4, value_name = "N", value_parser = value_parser!(u32).range(1..=1024))]
    pub workers: u32,
    /// Steps between two lines of loss, accuracy and speed.
    #[arg(short, long, default_value_t = 10, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub print_freq: u32,
    /// Fixes the first weights, the order of images, their crops and flips: two runs have the same bits.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u32,
    /// Saves after each epoch, and at the end, in this file; the best so far in the same with `.best` at the end.
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Resumes the run of this checkpoint: with the same bits after whole epochs, and with one rank or --sync-bn inside an epoch too.
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Validates the model of --resume, and trains nothing.
    #[arg(short, long)]
    pub evaluate: bool,
    /// Trains on N ranks, which are threads, each with its part of every step's images. Without --sync-bn each normalises by its own.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=64))]
    pub ranks: Option<u32>,
    /// Normalises the images of all ranks as one batch.
    #[arg(long, visible_alias = "sync_bn", requires = "ranks")]
    pub sync_bn: bool,
    /// Draws the loss curves in this file.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  imagenet                                           generated pictures at level O1 in f16, half a minute
  imagenet --opt-level O2 --loss-scale 128           masters, a fixed scale
  imagenet -a resnet50 -b 224 --opt-level O2 DIR     ResNet-50 on ImageNet
  imagenet --ranks 2 --sync-bn -b 16                 the generated pictures on two threads
  imagenet --checkpoint a.ckpt --epochs 2            saved after each epoch
  imagenet --checkpoint a.ckpt --resume a.ckpt       goes on from there, to 8 epochs
  imagenet --resume a.ckpt --evaluate                accuracy of what was saved
  imagenet --generate DIR                            the generated pictures, as files to look at";

/// Sizes that have other defaults for the generated pictures.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sizes {
    /// Passes over the training images.
    pub epochs: u32,
    /// Images a step, of all ranks together.
    pub batch: usize,
    /// Pixels a side.
    pub image: u32,
    /// Channels of the first stage.
    pub width: usize,
}

impl Args {
    /// Returns the number of ranks; 1 without any.
    pub fn ranks(&self) -> usize {
        self.ranks.unwrap_or(1) as usize
    }

    /// Returns the sizes of the run.
    pub fn sizes(&self) -> Sizes {
        let full = self.data.is_some();
        let [epochs, batch, image, width] = if full { [90, 256, 224, 64] } else { [8, 32, 32, 16] };
        Sizes {
            epochs: self.epochs.unwrap_or(epochs),
            batch: self.batch_size.unwrap_or(batch) as usize * self.ranks(),
            image: self.image_size.unwrap_or(image),
            width: self.width.unwrap_or(width) as usize,
        }
    }
}

fn boolean(text: &str) -> Result<bool, String> {
    text.to_lowercase().parse().map_err(|_| "take True or False".into())
}

fn loss_scale(text: &str) -> Result<LossScale, String> {
    if text == "dynamic" {
        return Ok(LossScale::dynamic());
    }
    let scale = parse::scale(text).map_err(|why| format!("{why}; or dynamic"))?;
    LossScale::fixed(scale).map_err(|error| error.to_string())
}

fn momentum(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|it| (0.0..1.0).contains(it));
    number.ok_or_else(|| "take a number from 0 to below 1, such as 0.9".into())
}

fn decay(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|it: &f64| it.is_finite() && *it >= 0.0);
    number.ok_or_else(|| "take 0 or a finite number above it, such as 0.0001".into())
}
