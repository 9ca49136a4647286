//! Figures of the runs, and the report that is printed of them.

use binade_example_shared::program::table::{scales, table, wrap};
use binade_example_shared::program::{Outcomes, curve};

pub use curve::Point;

/// Run of one level in one low type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Level and low type, such as `O1 f16`.
    pub name: String,
    /// Losses in the course of the run, since it was resumed, in nats a character.
    pub curve: Vec<Point>,
    /// Outcomes of the steps.
    pub outcomes: Outcomes,
    /// Characters trained on since it was resumed.
    pub characters: f64,
    /// Seconds that these took.
    pub seconds: f64,
    /// Text that the model wrote; empty if the run diverged.
    pub sample: String,
}

impl Run {
    /// Returns the last loss on the validation text; NaN if there was none.
    pub fn validation(&self) -> f32 {
        self.curve.last().map_or(f32::NAN, |it| it.validation)
    }
}

const HEADS: [&str; 8] =
    ["level", "training", "validation", "applied", "skipped", "scale", "characters/s", "seconds"];

const LEGEND: &str = "\
training, validation: loss in nats a character; scale: before the first step → after the last; characters/s, seconds: of
training alone.";

/// Returns each run's sample, the table of all, their validation losses as bars, and remarks.
pub fn report(runs: &[Run]) -> String {
    let rows = [HEADS.map(String::from)].into_iter().chain(runs.iter().map(cells));
    let table = table(&rows.collect::<Vec<_>>());
    let mut parts: Vec<_> = runs.iter().map(sample).collect();
    parts.push(format!("{table}\n\n{LEGEND}\n"));
    parts.extend(runs.iter().flat_map(|run| remarks(run, &runs[0])).map(|it| wrap(&it)));
    parts.join("\n")
}

fn sample(run: &Run) -> String {
    format!("{} writes:\n\n{}\n", run.name, run.sample.trim())
}

fn cells(run: &Run) -> [String; 8] {
    let Run { outcomes, characters, seconds, .. } = run;
    let train = run.curve.last().map_or(f32::NAN, |it| it.train);
    [
        run.name.clone(),
        format!("{train:.4}"),
        format!("{:.4}", run.validation()),
        outcomes.steps.applied.to_string(),
        outcomes.steps.skipped.to_string(),
        scales(&outcomes.scales),
        format!("{:.0}", characters / seconds),
        format!("{seconds:.1}"),
    ]
}

/// Returns the run's curve, its difference from O0, its first skip and its divergence.
fn remarks(run: &Run, first: &Run) -> impl Iterator<Item = String> {
    let Run { name, outcomes, curve, .. } = run;
    let bars = curve::bars(curve.iter().map(|it| it.validation));
    let near = match &*first.name {
        "O0 f32" if run.name != first.name => {
            format!(", at the end {:+.4} from O0", run.validation() - first.validation())
        }
        _ => String::new(),
    };
    let bars = format!("{name}: validation {bars}{near}");
    let skip = outcomes.first_skip.as_ref().map(|report| format!("{name}: {report}."));
    let end = outcomes.diverged.as_ref().map(|report| format!("{name} diverged: {report}."));
    [Some(bars), skip, end].into_iter().flatten()
}
