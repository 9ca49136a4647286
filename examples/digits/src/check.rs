//! Checks of several arguments together, before anything is trained.

use crate::Result;
use crate::args::{Args, ModelKind};
use crate::config;
use crate::data::Images;
use crate::model;
use crate::ranks::SHARDS;
use binade_example_shared::program::{DeviceKind, is_scaled};

/// Refuses arguments that would be ignored, or fail late, with these images to train on.
///
/// # Errors
///
/// The first argument that cannot be followed.
pub fn check(args: &Args, images: &Images) -> Result<()> {
    check_scaling(args)?;
    check_ranks(args)?;
    check_checkpoint(args)?;
    check_images(args, images)?;
    let steps = config::steps(args, images.len());
    match args.inject_overflow {
        Some(step) if step > steps => Err(format!(
            "--inject-overflow {step}: a run has {steps} steps; take 1 to {steps}, or more --epochs"
        )
        .into()),
        _ => Ok(()),
    }
}

fn check_ranks(args: &Args) -> Result<()> {
    let Some(ranks) = args.ranks else {
        let given = [
            (args.slices, "--slices: there are no ranks to divide among; add --ranks N"),
            (args.overlap, "--overlap: there are no ranks to send to; add --ranks N"),
            (args.sync_bn, "--sync-bn: one device has the whole batch; add --ranks N"),
            (
                args.checkpoint_by_rank.is_some(),
                "--checkpoint-by-rank: there are no ranks to write files; add --ranks N",
            ),
        ];
        let why = given.into_iter().find_map(|(is_given, why)| is_given.then_some(why));
        return why.map_or(Ok(()), |why| Err(why.into()));
    };
    if args.sync_bn && args.model == ModelKind::Mlp {
        return Err(
            "--sync-bn: --model mlp has no batch normalisation; take --model cnn, or leave it out"
                .into(),
        );
    }
    let why = if !SHARDS.is_multiple_of(ranks as usize) {
        "the 8 shards of a batch do not go evenly on them; take 1, 2, 4 or 8"
    } else if args.device == DeviceKind::Wgpu {
        "ranks are the CPU's threads or NVIDIA's GPUs; take --device cpu or cuda"
    } else if args.device == DeviceKind::Cuda && (args.slices || args.overlap || args.sync_bn) {
        "--slices, --overlap and --sync-bn are the CPU's; take --device cpu, or leave them out"
    } else if args.device == DeviceKind::Cuda {
        // Each GPU has one shard, of an image at least: a batch is not smaller than the 8 shards of the CPU.
        return Ok(());
    } else if args.model == ModelKind::Cnn && !args.sync_bn {
        "each shard would have a batch normalisation of its own; add --sync-bn, or take --model mlp"
    } else if (args.batch as usize) < SHARDS {
        "each of the 8 shards needs an image; take --batch 8 or more"
    } else {
        return Ok(());
    };
    Err(format!("--ranks {ranks}: {why}").into())
}

fn check_checkpoint(args: &Args) -> Result<()> {
    let runs = config::settings(args).len();
    match &args.checkpoint_by_rank {
        Some(_) if runs > 1 => Err(format!(
            "--checkpoint-by-rank: {runs} runs would write to one path; take one --level and one --dtype"
        )
        .into()),
        Some(_) if args.unwatched => Err(
            "--checkpoint-by-rank: a checkpoint begins with a step's outcome; leave --unwatched out".into(),
        ),
        _ => Ok(()),
    }
}

fn check_images(args: &Args, images: &Images) -> Result<()> {
    let ([height, width], least) = (images.size, model::LEAST);
    if args.model == ModelKind::Cnn && height.min(width) < least {
        return Err(format!(
            "--model cnn: images of {height} by {width} pixels are too small for its two poolings, which need {least} by \
             {least}; take --model mlp"
        )
        .into());
    }
    let (batch, images) = (args.batch, images.len());
    if batch as usize > images {
        return Err(format!(
            "--batch {batch}: there are {images} images to train on; take 2 to {images}"
        )
        .into());
    }
    Ok(())
}

fn check_scaling(args: &Args) -> Result<()> {
    if config::settings(args).into_iter().any(is_scaled) {
        return Ok(());
    }
    let given = [
        (args.loss_scale.is_some(), "--loss-scale"),
        (args.init_scale.is_some(), "--init-scale"),
        (args.growth_interval.is_some(), "--growth-interval"),
    ];
    match given.into_iter().find(|(given, _)| *given) {
        Some((_, flag)) => Err(format!(
            "{flag}: no level asked for scales its loss; leave it out, or take --level O1 or O2 with --dtype f16"
        )
        .into()),
        None => Ok(()),
    }
}
