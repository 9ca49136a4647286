//! Runs, and the file that keeps them: a line of JSON each, so that an interrupted program goes on where it was.

use super::{Options, Task};
use crate::training::Setting;
use crate::{Origin, Result};
use binade_example_shared::program::Outcomes;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::{fmt, io};

/// Figures of a run, as an example's program returns them.
pub(super) struct Figures {
    pub(super) figure: f32,
    pub(super) outcomes: Outcomes,
    pub(super) seconds: f64,
}

/// Run of a task at one setting, with one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) task: Task,
    /// Arguments of the example's program, without the folder of its data.
    pub(super) arguments: String,
    /// Sum that tells sets of pictures apart; `None` where the example has its data with it, and in files of earlier commits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pictures: Option<String>,
    /// Level and low type, such as `O1 f16`.
    pub(super) setting: String,
    pub(super) seed: u32,
    /// Figure that the task is judged by; `None` where it is not finite.
    pub(super) figure: Option<f64>,
    /// Steps begun.
    pub(super) steps: u64,
    /// Steps skipped.
    pub(super) skipped: u64,
    /// Message of a run that ended early.
    pub(super) diverged: Option<String>,
    /// Seconds that it took.
    pub(super) seconds: f64,
}

impl Run {
    /// Trains a task.
    pub(super) fn train(
        options: &Options,
        task: Task,
        setting: Setting,
        seed: u32,
        pictures: Option<&str>,
    ) -> Result<Self> {
        let pictures = pictures.filter(|_| task == Task::Images).map(String::from);
        let arguments = task.arguments(options, setting, seed);
        let Figures { figure, outcomes, seconds } = task.train(options, &arguments)?;
        let figure = Some(f64::from(figure)).filter(|it| it.is_finite());
        let (steps, skipped) = (outcomes.steps.attempted, outcomes.steps.skipped);
        let (setting, diverged) = (name(setting), outcomes.diverged);
        Ok(Self {
            task,
            arguments,
            pictures,
            setting,
            seed,
            figure,
            steps,
            skipped,
            diverged,
            seconds,
        })
    }

    /// Returns the figure; NaN where it is not finite.
    pub(super) fn value(&self) -> f64 {
        self.figure.unwrap_or(f64::NAN)
    }
}

/// Returns a setting's name.
pub(super) fn name((level, dtype): Setting) -> String {
    format!("{level} {dtype}")
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { task, setting, seed, seconds, .. } = self;
        let (name, digits) = (task.name(), task.decimals());
        write!(f, "{name}, {setting}, seed {seed}: {:.digits$} after {seconds:.0} s", self.value())
    }
}

/// File of runs, which begins with the commit that was built and the kind of its runs.
#[derive(Debug)]
pub(super) struct Runs {
    file: File,
    /// Runs that the file had when it was opened.
    pub(super) all: Vec<Run>,
}

/// First line of the file.
#[derive(Serialize, Deserialize)]
struct First {
    commit: Option<String>,
    #[serde(default)]
    dry_run: bool,
}

impl Runs {
    /// Opens `runs.jsonl` of the folder `options.out`, both of which are made if they are not there.
    ///
    /// # Errors
    ///
    /// If a run is of another commit or of other sizes, or has other pictures than these, where both are known.
    pub(super) fn open(options: &Options, pictures: Option<&str>, origin: &Origin) -> Result<Self> {
        let path = options.out.join("runs.jsonl");
        let here = First { commit: origin.commit.clone(), dry_run: options.dry_run };
        Self::opened(&path, pictures, &here)
            .map_err(|error| format!("{}: {error}", path.display()).into())
    }

    fn opened(path: &Path, pictures: Option<&str>, here: &First) -> Result<Self> {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read?,
        };
        let file = File::options().append(true).create(true).open(path)?;
        let mut runs = Self { file, all: Vec::new() };
        let mut lines = text.lines().zip(1..);
        let Some((first, _)) = lines.next() else {
            runs.write(here)?;
            return Ok(runs);
        };
        let there: First = serde_json::from_str(first).map_err(|error| at(1, &error))?;
        if there.commit != here.commit {
            let known = |of: &First| of.commit.clone().unwrap_or_else(|| "unknown".into());
            let (there, here) = (known(&there), known(here));
            return Err(format!(
                "it has runs of commit {there}, and this is {here}; name another folder"
            )
            .into());
        }
        if there.dry_run != here.dry_run {
            let kind = if there.dry_run { "dry runs" } else { "runs that are not dry" };
            return Err(format!("it has {kind}; name another folder").into());
        }
        for (line, number) in lines {
            let run: Run = serde_json::from_str(line).map_err(|error| at(number, &error))?;
            let both = run.pictures.as_deref().zip(pictures);
            if both.is_some_and(|(there, here)| there != here) {
                return Err(format!(
                    "the run in line {number} had other pictures; name another folder"
                )
                .into());
            }
            runs.all.push(run);
        }
        Ok(runs)
    }

    /// Adds a run to the file.
    pub(super) fn add(&mut self, run: &Run) -> Result<()> {
        self.write(run)
    }

    fn write(&mut self, line: &impl Serialize) -> Result<()> {
        let line = serde_json::to_string(line)? + "\n";
        Ok(self.file.write_all(line.as_bytes())?)
    }
}

fn at(line: usize, error: &serde_json::Error) -> String {
    format!("line {line} is no run: {error}; take it out, and the run is repeated")
}
