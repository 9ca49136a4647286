//! Session: what the command line asks for, from its checks to its report.

use crate::Result;
use crate::args::Args;
use crate::data::{self, Data};
use crate::job::Job;
use crate::ranks::{self, Place};
use crate::report::Run;
use crate::trainer::Trainer;
use binade_example_shared::program::{DeviceKind, OnDevice, Trains, curve, open, progress};
use std::path::Path;

/// Does what `args` ask for, and returns the words that end it.
///
/// # Errors
///
/// As [`train`] has; if the folder of generated pictures cannot be written.
pub fn run(args: &Args) -> Result<String> {
    if let Some(folder) = &args.generate {
        data::generate(folder, data::COUNTS)?;
        let folder = folder.display();
        return Ok(format!(
            "{folder} has the pictures; `imagenet --image-size 32 --width 16 {folder}` trains on them"
        ));
    }
    Ok(train(args)?.to_string())
}

/// Trains, or validates, as `args` say.
///
/// # Errors
///
/// Before anything is trained, if `args` cannot be followed or the folder of images has not what it needs; later, if the run fails.
pub fn train(args: &Args) -> Result<Run> {
    check(args)?;
    let folder = args.data.clone().map_or_else(data::default_folder, Ok)?;
    let (data, sizes) = (Data::open(&folder)?, args.sizes());
    if !args.evaluate {
        check_batch(args, sizes.batch, data.train.len())?;
    }
    curve::check(args.svg.as_deref())?;
    let job = Job { args, sizes, data: &data };
    let mut run = Run::default();
    open(args.device, "imagenet", Work { job: &job, run: &mut run })?;
    curve::draw(args.svg.as_deref(), &[(&run.name, &run.curve)], "loss in nats")?;
    Ok(run)
}

/// Refuses arguments that do not go together.
fn check(args: &Args) -> Result<()> {
    if let (Some(ranks), true) = (args.ranks, args.device != DeviceKind::Cpu) {
        return Err(format!(
            "--ranks {ranks}: ranks are the CPU's threads; take --device cpu, or leave it out"
        )
        .into());
    }
    if args.evaluate {
        check_evaluate(args)?;
    }
    let checkpoint = args.checkpoint.as_deref().and_then(Path::parent);
    match checkpoint.filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        Some(folder) => Err(format!(
            "--checkpoint: there is no folder {}; make it, or name another file",
            folder.display()
        )
        .into()),
        None => Ok(()),
    }
}

fn check_evaluate(args: &Args) -> Result<()> {
    let given = [
        (args.resume.is_none(), "--evaluate: there is no model to validate; add --resume FILE"),
        (
            args.checkpoint.is_some(),
            "--checkpoint: --evaluate trains nothing to save; leave one of them out",
        ),
        (args.svg.is_some(), "--svg: --evaluate has no curve to draw; leave one of them out"),
    ];
    let why = given.into_iter().find_map(|(is_given, why)| is_given.then_some(why));
    why.map_or(Ok(()), |why| Err(why.into()))
}

fn check_batch(args: &Args, batch: usize, images: usize) -> Result<()> {
    if batch <= images {
        return Ok(());
    }
    let ranks = args.ranks();
    let most = images / ranks;
    let advice = if most < 2 {
        "each rank needs 2, so put more in train".to_owned()
    } else {
        format!("take 2 to {most}")
    };
    Err(format!(
        "--batch-size {}: a step has {batch} images on all ranks, and there are {images} to train on; {advice}",
        batch / ranks
    )
    .into())
}

/// Run on a device of any type.
struct Work<'w> {
    job: &'w Job<'w>,
    run: &'w mut Run,
}

impl OnDevice for Work<'_> {
    fn on<D: Trains>(self, device: &D) -> Result<()> {
        let Self { job, run } = self;
        let name = format!("{} {}", job.args.arch.name(), job.args.opt_level);
        let bar = progress(name, job.steps(), "steps");
        let outcome = match job.args.ranks {
            Some(_) => ranks::run(job, &bar),
            None => Trainer::new(device, Place::alone(), job, &bar).and_then(|it| Ok(it.run()?.0)),
        };
        bar.finish_and_clear();
        *run = outcome?;
        Ok(())
    }
}
