//! `cargo xtask ci`: the stages in order, what each did, and how long it took.

mod fuzz;
mod lanes;
mod outcome;
mod required;
mod semver;
mod slow;
mod stages;
mod table;
mod tally;

pub(crate) use outcome::Outcome;

use std::time::Instant;

use clap::Args;

use crate::{
    Result,
    ci::{outcome::Record, required::Required, stages::Stage, table::Table},
};

#[derive(Args)]
pub(crate) struct Ci {
    /// Adds what is slow: the sweeps over every f32, random cases by the hundred thousand, the address sanitizer.
    #[arg(long)]
    full: bool,
    /// Runs only these stages.
    #[arg(long, value_name = "STAGE", num_args = 1..)]
    only: Vec<String>,
    /// Lists the stages and what each is for, and runs nothing.
    #[arg(long)]
    list: bool,
}

impl Ci {
    /// Runs every chosen stage, also after one failed, so that one run tells everything that is wrong.
    pub(crate) fn run(self) -> Result<()> {
        let stages = self.chosen()?;
        if self.list {
            for Stage { name, what, .. } in &stages {
                println!("{name:<14} {what}");
            }
            return Ok(());
        }
        let required = Required::from_env();
        let start = Instant::now();
        let records = lanes::run(&stages, |stage| record(stage, &required));
        let table = Table::new(records, start.elapsed().as_secs_f64());
        println!("\n{table}");
        table.verdict()
    }

    /// The stages that the flags choose; a name that no stage has is an error.
    fn chosen(&self) -> Result<Vec<Stage>> {
        let mut stages = stages::usual();
        if self.full || self.list || !self.only.is_empty() {
            stages.extend(slow::stages());
        }
        if self.only.is_empty() {
            return Ok(stages);
        }
        if let Some(unknown) =
            self.only.iter().find(|name| stages.iter().all(|stage| stage.name != **name))
        {
            return Err(format!(
                "no stage is called `{unknown}`; `cargo xtask ci --list` names them"
            )
            .into());
        }
        stages.retain(|stage| self.only.iter().any(|name| name == stage.name));
        Ok(stages)
    }
}

/// Runs one stage, with a line before and after it.
fn record(stage: &Stage, required: &Required) -> Record {
    println!("\n==> {}: {}", stage.name, stage.what);
    let start = Instant::now();
    let outcome = (stage.run)().unwrap_or_else(|error| Outcome::Failed(error.to_string()));
    let outcome = required.insist(stage.name, outcome);
    let seconds = start.elapsed().as_secs_f64();
    println!("<== {}: {outcome} ({seconds:.1} s)", stage.name);
    Record { stage: stage.name, outcome, seconds }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ci(full: bool, only: &[&str]) -> Ci {
        Ci { full, only: only.iter().map(ToString::to_string).collect(), list: false }
    }

    fn stage(name: &'static str, run: fn() -> Result<Outcome>) -> Stage {
        Stage { name, what: "", run, is_beside: false }
    }

    #[test]
    fn full_adds_stages_at_the_end_and_changes_none() {
        let usual = ci(false, &[]).chosen().unwrap();
        let full = ci(true, &[]).chosen().unwrap();
        assert!(full.len() > usual.len());
        assert!(usual.iter().zip(&full).all(|(a, b)| a.name == b.name));
    }

    #[test]
    fn stages_have_names_of_their_own() {
        let mut names: Vec<_> =
            ci(true, &[]).chosen().unwrap().iter().map(|stage| stage.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn a_stage_that_does_not_exist_is_refused_by_name() {
        let error = ci(false, &["fmt", "tset"]).chosen().err().unwrap();
        assert!(error.to_string().contains("`tset`"), "{error}");
    }

    #[test]
    fn a_stage_that_fails_to_start_is_recorded_as_failed() {
        let stage = stage("broken", || Err("no such program".into()));
        let record = record(&stage, &Required::default());
        assert_eq!(record.outcome, Outcome::Failed("no such program".into()));
    }

    #[test]
    fn a_skip_of_what_is_required_is_recorded_as_failed() {
        let stage = stage("deny", || Ok(Outcome::Skipped("not installed".into())));
        assert!(matches!(record(&stage, &Required::parse("cpu,deny")).outcome, Outcome::Failed(_)));
        assert!(matches!(record(&stage, &Required::parse("cpu")).outcome, Outcome::Skipped(_)));
    }
}
