//! Session: all runs of the command line, one after the other.

use crate::Result;
use crate::args::Args;
use crate::report::Run;
use crate::text::Text;
use crate::trainer::Trainer;
use binade_example_shared::program::{OnDevice, Trains, curve, open, progress, settings};

/// Runs every setting of `args`. Each finished run is kept in `runs`, even if a later one fails.
///
/// # Errors
///
/// Before anything is trained, if `args` cannot be followed; later, if a run fails.
pub fn run(args: &Args, runs: &mut Vec<Run>) -> Result<()> {
    check(args)?;
    let text = Text::load(args.text.as_deref(), args.context as usize)?;
    curve::check(args.svg.as_deref())?;
    open(args.device, "gpt", Each { args, text: &text, runs })?;
    let curves: Vec<_> = runs.iter().map(|run| (&*run.name, &*run.curve)).collect();
    curve::draw(args.svg.as_deref(), &curves, "loss in nats a character")
}

/// Refuses arguments that do not go together.
fn check(args: &Args) -> Result<(), String> {
    let (width, heads, pairs) = (args.width, args.heads, 2 * args.heads);
    if !width.is_multiple_of(pairs) {
        let more = width.next_multiple_of(pairs);
        return Err(format!(
            "--width {width}: {heads} heads rotate pairs of features, which need a multiple of {pairs}; take {more}"
        ));
    }
    let (files, runs) = (
        [("--save", &args.save), ("--resume", &args.resume)],
        settings(args.level, Some(args.dtype)).len(),
    );
    match files.iter().find_map(|(flag, file)| Some((flag, file.as_ref()?))) {
        Some((flag, file)) if runs > 1 => Err(format!(
            "{flag} {}: a checkpoint is of one run, and {runs} are asked for; take one --level",
            file.display()
        )),
        _ => Ok(()),
    }
}

/// Runs of every setting.
struct Each<'a> {
    args: &'a Args,
    text: &'a Text,
    runs: &'a mut Vec<Run>,
}

impl OnDevice for Each<'_> {
    fn on<D: Trains>(self, device: &D) -> Result<()> {
        let Self { args, text, runs } = self;
        for setting in settings(args.level, Some(args.dtype)) {
            let mut trainer = Trainer::new(device, args, setting, text)?;
            args.resume.iter().try_for_each(|file| trainer.resume(file))?;
            let name = trainer.run.name.clone();
            let bar = progress(name.clone(), args.steps.into(), "steps");
            let run = trainer.train(&bar);
            bar.finish_and_clear();
            runs.push(run.map_err(|error| format!("{name}: {error}"))?);
        }
        Ok(())
    }
}
