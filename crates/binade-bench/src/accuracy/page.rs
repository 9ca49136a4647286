//! Page of all runs: a table for each task.

use super::run::Run;
use super::statistics::{Level, mean};
use super::{SETTINGS, Task, plot};
use crate::{Origin, Result};
use clap::ValueEnum;
use std::path::Path;
use std::{fmt, fs};

/// Runs of a folder. Displays as a table in Markdown for each task.
#[derive(Clone, Debug)]
pub struct Page {
    origin: Origin,
    runs: Vec<Run>,
}

impl Page {
    pub(super) fn new(origin: Origin, runs: Vec<Run>) -> Self {
        Self { origin, runs }
    }

    /// Returns the tasks that have runs, and their levels.
    fn tasks(&self) -> impl Iterator<Item = (Task, Vec<Level>)> {
        Task::value_variants().iter().filter_map(|&task| {
            let runs: Vec<_> = self.runs.iter().filter(|run| run.task == task).collect();
            let levels = SETTINGS.into_iter().filter_map(|setting| Level::of(setting, &runs));
            let levels: Vec<_> = levels.collect();
            (!levels.is_empty()).then_some((task, levels))
        })
    }

    /// Writes the page as `README.md`, and a plot of each task.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        for (task, levels) in self.tasks() {
            plot::draw(task, &levels, &folder.join(format!("{}.svg", task.name())))?;
        }
        let file = folder.join("README.md");
        let written = fs::write(&file, format!("# Accuracy\n\n{self}"));
        written.map_err(|error| format!("cannot write {}: {error}", file.display()).into())
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds: f64 = self.runs.iter().map(|run| run.seconds).sum();
        let (origin, count) = (&self.origin, self.runs.len());
        writeln!(f, "{origin}; one thread. {count} runs took {:.0} minutes.", seconds / 60.0)?;
        for (task, levels) in self.tasks() {
            writeln!(f, "\n## {}: {}\n", task.name(), task.figure())?;
            let first = self.runs.iter().find(|run| run.task == task);
            let arguments = first.map(|run| run.arguments.split(" --level").next());
            let data = first.and_then(|run| run.pictures.as_ref()).map_or("", |_| " --data FOLDER");
            writeln!(f, "`{}{data}`\n", arguments.flatten().unwrap_or_default())?;
            table(f, task, &levels)?;
        }
        Ok(())
    }
}

const HEADS: &str = "\
| level | mean | deviation | gap to O0 | in deviations of O0 | gap, seed by seed | steps skipped |
|---|---:|---:|---:|---:|---:|---:|";

fn table(f: &mut fmt::Formatter<'_>, task: Task, levels: &[Level]) -> fmt::Result {
    writeln!(f, "{HEADS}")?;
    let first = levels.iter().find(|level| level.name.starts_with("O0"));
    levels.iter().try_for_each(|level| {
        let first = first.filter(|first| first.name != level.name);
        writeln!(f, "| {} |", cells(task.decimals(), level, first).join(" | "))
    })
}

/// Returns the cells of a level's row, beside those of O0, the `first`.
fn cells(digits: usize, level: &Level, first: Option<&Level>) -> [String; 7] {
    let gaps = first.map(|first| level.gaps(first)).unwrap_or_default();
    let gap = mean(&gaps);
    let signed = |gap: &f64| shown(*gap, &format!("{gap:+.digits$}"));
    let plain = |value: f64| shown(value, &format!("{value:.digits$}"));
    let deviations = gap / first.map_or(f64::NAN, Level::deviation);
    let diverged = match level.diverged {
        0 => String::new(),
        runs => format!("; {runs} diverged"),
    };
    [
        level.name.clone(),
        plain(level.mean()),
        plain(level.deviation()),
        signed(&gap),
        shown(deviations, &format!("{deviations:+.1}")),
        gaps.iter().map(signed).collect::<Vec<_>>().join(", "),
        format!("{} of {}{diverged}", level.skipped, level.steps),
    ]
}

/// Returns the text of a finite value, zero without a sign; a dash for another.
fn shown(value: f64, text: &str) -> String {
    let is_zero = text.chars().all(|it| !('1'..='9').contains(&it));
    match text.trim_start_matches(['+', '-']) {
        _ if !value.is_finite() => "–".into(),
        zero if is_zero => zero.into(),
        _ => text.replace('-', "−"),
    }
}
