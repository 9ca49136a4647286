//! Checks of several arguments together, before anything is trained.

use crate::args::{Args, DeviceKind, ModelKind};
use crate::config;
use crate::data::Images;
use crate::model;
#[cfg(feature = "cuda")]
use binade_cuda::Cuda;
#[cfg(feature = "wgpu")]
use binade_wgpu::Wgpu;

/// Reason why arguments do not go together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ArgsError {
    /// Device that this program was built without; its name is its feature's.
    #[error(
        "--device {0}: this program was built without it; run `cargo run --release --example digits --features {0} -- \
         --device {0}`, and the other arguments behind it"
    )]
    NotBuilt(String),
    /// CUDA device that cannot be opened.
    #[cfg(feature = "cuda")]
    #[error("--device cuda: {0}")]
    Cuda(#[from] binade_cuda::Error),
    /// Adapter that is missing, or does not start.
    #[cfg(feature = "wgpu")]
    #[error("--device wgpu: {0}")]
    Wgpu(#[from] binade_wgpu::Error),
    /// Loss scale without a level that has a dynamic one.
    #[error(
        "{flag}: no level asked for scales its loss; leave it out, or take --level O1 or O2 with --dtype f16"
    )]
    Unscaled {
        /// Name of the argument.
        flag: &'static str,
    },
    /// Batch size that the images never fill.
    #[error("--batch {batch}: there are {images} images to train on; take 2 to {images}")]
    NoSuchBatch {
        /// Batch size asked for.
        batch: u32,
        /// Number of training images.
        images: usize,
    },
    /// Images too small for the model's poolings.
    #[error(
        "--model cnn: images of {} by {} pixels are too small for its two poolings, which need {least} by {least}; take \
         --model mlp", size[0], size[1], least = model::LEAST
    )]
    TooSmall {
        /// Height and width of the images.
        size: [usize; 2],
    },
    /// Step that a run never reaches.
    #[error(
        "--inject-overflow {step}: a run has {steps} steps; take 1 to {steps}, or more --epochs"
    )]
    NoSuchStep {
        /// Step asked for.
        step: u64,
        /// Number of steps of a run.
        steps: u64,
    },
}

/// Refuses arguments that would be ignored, or fail late, with these images to train on.
///
/// # Errors
///
/// The first argument that cannot be followed.
pub fn check(args: &Args, images: &Images) -> Result<(), ArgsError> {
    check_device(args.device)?;
    check_scaling(args)?;
    check_images(args, images)?;
    let steps = config::steps(args, images.len());
    match args.inject_overflow {
        Some(step) if step > steps => Err(ArgsError::NoSuchStep { step, steps }),
        _ => Ok(()),
    }
}

fn check_device(device: DeviceKind) -> Result<(), ArgsError> {
    match device {
        DeviceKind::Cpu => Ok(()),
        // Opened and dropped: a missing device is an error before anything else is done.
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda => Cuda::open(0).map(drop).map_err(ArgsError::from),
        #[cfg(feature = "wgpu")]
        DeviceKind::Wgpu => Wgpu::open().map(drop).map_err(ArgsError::from),
        #[cfg(not(all(feature = "cuda", feature = "wgpu")))]
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
