//! What can only be told from several arguments together, before anything is trained.

use crate::args::{Args, DeviceKind, ModelKind};
use crate::config;
use crate::data::Images;
use crate::model;
#[cfg(feature = "cuda")]
use binade_cuda::Cuda;
#[cfg(feature = "wgpu")]
use binade_wgpu::Wgpu;

/// Arguments that do not go together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ArgsError {
    /// A device that this program was built without; its name is its feature's.
    #[error(
        "--device {0}: this program was built without it; run `cargo run --release --example digits --features {0} -- \
         --device {0}`, and the other arguments behind it"
    )]
    NotBuilt(String),
    /// A device that cannot be opened.
    #[cfg(feature = "cuda")]
    #[error("--device cuda: {0}")]
    Cuda(#[from] binade_cuda::Error),
    /// An adapter that is not there, or does not start.
    #[cfg(feature = "wgpu")]
    #[error("--device wgpu: {0}")]
    Wgpu(#[from] binade_wgpu::Error),
    /// A loss scale where no level has one that moves.
    #[error(
        "{flag}: no level asked for scales its loss; leave it out, or take --level O1 or O2 with --dtype f16"
    )]
    Unscaled {
        /// Which argument.
        flag: &'static str,
    },
    /// Micro-batches that would never be full.
    #[error("--batch {batch}: there are {images} images to train on; take 2 to {images}")]
    NoSuchBatch {
        /// The size asked for.
        batch: u32,
        /// How many there are.
        images: usize,
    },
    /// Images of which the poolings leave nothing.
    #[error(
        "--model cnn: images of {} by {} pixels are too small for its two poolings, which need {least} by {least}; take \
         --model mlp", size[0], size[1], least = model::LEAST
    )]
    TooSmall {
        /// Height and width.
        size: [usize; 2],
    },
    /// One file for several runs.
    #[error(
        "--checkpoint: {runs} runs are asked for, and a checkpoint is of one; take one with --level and --dtype, such as \
         --level O2 --dtype f16"
    )]
    SeveralRuns {
        /// How many.
        runs: usize,
    },
    /// A step that will never come.
    #[error(
        "--inject-overflow {step}: a run has {steps} steps; take 1 to {steps}, or more --epochs"
    )]
    NoSuchStep {
        /// The step asked for.
        step: u64,
        /// How many there are.
        steps: u64,
    },
}

/// Refuses what would be ignored, or fail late, with these images to train on.
///
/// # Errors
///
/// The first argument that cannot be followed.
pub fn check(args: &Args, images: &Images) -> Result<(), ArgsError> {
    check_device(args.device)?;
    check_scaling(args)?;
    check_images(args, images)?;
    let runs = config::settings(args).len();
    if args.checkpoint.is_some() && runs > 1 {
        return Err(ArgsError::SeveralRuns { runs });
    }
    let steps = config::steps(args, images.len());
    match args.inject_overflow {
        Some(step) if step > steps => Err(ArgsError::NoSuchStep { step, steps }),
        _ => Ok(()),
    }
}

fn check_device(device: DeviceKind) -> Result<(), ArgsError> {
    match device {
        DeviceKind::Cpu => Ok(()),
        #[cfg(feature = "deferred")]
        DeviceKind::Deferred => Ok(()),
        // Opened and let go: a device that is not there is an error before anything else is done.
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda => Cuda::open(0).map(drop).map_err(ArgsError::from),
        #[cfg(feature = "wgpu")]
        DeviceKind::Wgpu => Wgpu::open().map(drop).map_err(ArgsError::from),
        #[cfg(not(all(feature = "cuda", feature = "deferred", feature = "wgpu")))]
        _ => Err(ArgsError::NotBuilt(device.name())),
    }
}

fn check_images(args: &Args, images: &Images) -> Result<(), ArgsError> {
    let small = images.size.iter().any(|&side| side < model::LEAST);
    if args.model == ModelKind::Cnn && small {
        return Err(ArgsError::TooSmall { size: images.size });
    }
    if args.batch as usize > images.len() {
        return Err(ArgsError::NoSuchBatch { batch: args.batch, images: images.len() });
    }
    Ok(())
}

fn check_scaling(args: &Args) -> Result<(), ArgsError> {
    if config::settings(args).into_iter().any(config::is_scaled) {
        return Ok(());
    }
    let given = [
        (args.loss_scale.is_some(), "--loss-scale"),
        (args.init_scale.is_some(), "--init-scale"),
        (args.growth_interval.is_some(), "--growth-interval"),
    ];
    match given.into_iter().find(|(given, _)| *given) {
        Some((_, flag)) => Err(ArgsError::Unscaled { flag }),
        None => Ok(()),
    }
}
