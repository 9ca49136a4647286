//! `cargo xtask ci`: the stages of `.ci/stages.toml`, how each ended, and how long it took.

mod report;
mod stage;

use std::{collections::BTreeMap, time::Instant};

use clap::Args;
use rayon::prelude::*;

use crate::{
    Result,
    ci::{
        report::{Outcome, Record, Report, insist},
        stage::Stage,
    },
};

/// The most stages that run at once.
const LANES: usize = 2;

#[derive(Args)]
pub(crate) struct Ci {
    /// Adds the slow stages: the sweeps over every f32, random cases by the hundred thousand, the address sanitizer.
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
        let stages = self.chosen(stage::all()?)?;
        if self.list {
            for Stage { name, what, .. } in &stages {
                println!("{name:<12} {what}");
            }
            return Ok(());
        }
        let required = std::env::var("BINADE_REQUIRE").unwrap_or_default();
        let start = Instant::now();
        let lanes = rayon::ThreadPoolBuilder::new().num_threads(LANES).build()?;
        let mut records = Vec::new();
        // A build for all other stages has all cores to itself.
        for group in stages.chunk_by(|one, next| one.beside && next.beside) {
            // Each lane takes the next stage when it is done with one.
            let all = group.iter().enumerate().par_bridge();
            let ended = all.map(|(place, stage)| (place, record(stage, &required)));
            records.extend(lanes.install(|| ended.collect::<BTreeMap<_, _>>()).into_values());
        }
        let report = Report { records, seconds: start.elapsed().as_secs_f64() };
        println!("\n{report}");
        report.verdict()
    }

    /// The stages that the flags choose; a name that no stage has is an error.
    fn chosen(&self, mut stages: Vec<Stage>) -> Result<Vec<Stage>> {
        let is_known = |name: &&String| stages.iter().any(|stage| stage.name == **name);
        if let Some(unknown) = self.only.iter().find(|name| !is_known(name)) {
            let advice = "`cargo xtask ci --list` names them";
            return Err(format!("no stage is called `{unknown}`; {advice}").into());
        }
        let is_usual =
            |stage: &Stage| self.only.is_empty() && (self.full || self.list || !stage.slow);
        stages.retain(|stage| is_usual(stage) || self.only.contains(&stage.name));
        Ok(stages)
    }
}

/// Runs one stage, with a line before and after it.
fn record(stage: &Stage, required: &str) -> Record {
    println!("\n==> {}: {}", stage.name, stage.what);
    let start = Instant::now();
    let outcome = stage.run().unwrap_or_else(|error| Outcome::Failed(error.to_string()));
    let outcome = insist(required, &stage.name, outcome);
    let seconds = start.elapsed().as_secs_f64();
    println!("<== {}: {outcome} ({seconds:.1} s)", stage.name);
    Record { stage: stage.name.clone(), outcome, seconds }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_is_chosen_by_the_one_name_that_it_has_and_another_name_is_refused() {
        let chosen = |name: &str| {
            let ci = Ci { full: false, only: vec![name.to_owned()], list: false };
            ci.chosen(stage::all().unwrap())
        };
        for Stage { name, .. } in stage::all().unwrap() {
            assert_eq!(chosen(&name).unwrap().len(), 1, "{name}");
        }
        let error = chosen("tset").err().unwrap().to_string();
        assert!(error.contains("`tset`"), "{error}");
    }
}
