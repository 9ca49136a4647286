//! Runs that follow a recording: its scales, and its skips.
//!
//! The oracle goes by the documentation of `ReplayScales`, sentence by sentence.

use super::prelude::*;
use super::scale_update::update;
use super::training::{TurnValues, train};
use super::unscale::{Grads, Set, factor, unscale, upload, values};
use crate::{ReplayedRun, Result};
use binade_grad_scaler::{
    DivergenceKind, LossScale, ScaleState, Step, StepReport, StepSummary, Trajectory, UpdateInputs,
};
use binade_master_weights::UpdateRule;

/// Steps that no arithmetic rounds: a gradient of a power of two, and a rate of one.
const UPDATE: UpdateRule = UpdateRule::sgd(0.125);
const START: f64 = 16.0;

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    led(cases);
    ends(cases);
    two_runs(cases);
    at_random(cases);
}

fn rule() -> LossScale {
    let mut rule = LossScale::dynamic();
    (rule.init_exponent, rule.growth_interval) = (8, 2);
    rule
}

/// By iteration, whether its gradients overflow: `1` where they do.
fn sets(bits: &str) -> Vec<Set> {
    let one = |(index, bit): (i32, char)| {
        let bad = if bit == '1' { f64::INFINITY } else { 64.0 };
        let size = 2.0_f64.powi(index % 3 + 6);
        vec![("w", Some(Stored::vector(DType::F32, [size, -128.0, bad])))]
    };
    (0..).zip(bits.chars()).map(one).collect()
}

/// Returns the recording of a run by `rule` whose steps are skipped where there is a `1`.
fn recorded_by(rule: &LossScale, bits: &str) -> Vec<Recorded> {
    let mut after = rule.start();
    let one = |bit: char| {
        let skipped = bit == '1';
        after = update(rule, &after, UpdateInputs { overflow: skipped, skipped, magnitude: 1.0 });
        Recorded { skipped, after }
    };
    bits.chars().map(one).collect()
}

fn recorded(bits: &str) -> Vec<Recorded> {
    recorded_by(&rule(), bits)
}

/// The run as the subject is given it.
fn trajectory(recording: &[Recorded]) -> Result<Trajectory> {
    let mut trajectory = Trajectory::new(rule().start());
    for there in recording {
        let summary = StepSummary {
            name: String::new(),
            skipped: there.skipped,
            norm: None,
            verdict: FoundInf::default(),
            parts: Vec::new(),
        };
        trajectory.record(&judged(StepReport {
            steps: vec![summary],
            scale: there.after,
            notice: None,
        }))?;
    }
    Ok(trajectory)
}

fn judged(report: StepReport) -> Step {
    match report.steps.iter().any(|step| step.skipped) {
        _ if report.scale.diverged => Step::Diverged(report),
        true => Step::Skipped(report),
        false => Step::Applied(report),
    }
}

/// A run on the subject's side.
fn run<S: Backend>(
    s: &S,
    recording: Option<Trajectory>,
    sets: &[Set],
) -> Result<crate::RunResult<Tensor<S>>, CaseError> {
    let param = Stored::vector(DType::F32, [START; 3]);
    let iterations = sets.iter().map(|set| upload(s, set)).collect::<Result<_, CaseError>>()?;
    Ok(s.follow(ReplayedRun {
        rule: rule(),
        start: rule().start(),
        recording,
        update: UPDATE,
        params: vec![Named::new("w", put(s, &param)?)],
        loss: put(s, &Stored::from_values(DType::F32, &[], [1.0]))?,
        iterations,
    })?)
}

/// Compares a run with what the oracle makes of it.
fn compare<S: Backend>(
    s: &S,
    check: &mut Check,
    got: &crate::RunResult<Tensor<S>>,
    sets: &[Set],
    recording: &[Recorded],
) -> Verdict {
    let given: Vec<_> = sets.iter().map(values).collect();
    let wanted = follow(&rule(), rule().start(), recording, &given);
    let inputs = (recording, sets);
    let steps = got.steps.iter().map(|(step, parting)| {
        let skipped = step.report().steps.iter().any(|step| step.skipped);
        format!("skipped {skipped}, {parting:?}, {:?}", step.report().scale)
    });
    let told = wanted.iter().map(|step: &ExpectedRun| {
        let parting = step.parted.then_some(DivergenceKind::Skipped);
        format!("skipped {}, {parting:?}, {:?}", step.skipped, step.after)
    });
    let (steps, told): (Vec<_>, Vec<_>) = (steps.collect(), told.collect());
    check.equal(inputs, format!("{steps:#?}"), format!("{told:#?}"))?;
    let turns: Vec<_> = given.iter().zip(&wanted).map(|(grads, step)| turn(grads, step)).collect();
    let params = train(&[vec![START; 3]], &turns);
    let params: Vec<f64> = params.into_iter().flatten().map(f64::from).collect();
    let Some(param) = got.params.first() else {
        return check.equal(inputs, "no parameter".to_owned(), "a parameter".to_owned());
    };
    check.exact(&[], &get(s, &param.value, DType::F32, &[3])?, &params)
}

fn turn<'a>(grads: &[(&'a str, Option<Vec<f64>>)], step: &ExpectedRun) -> TurnValues<'a> {
    TurnValues {
        rule: UPDATE,
        grads: grads.to_vec(),
        scale: factor(&step.before),
        halted: step.skipped,
        clip: None,
        beside: None,
    }
}

/// Follows a recording on gradients with these overflows.
fn along<S: Backend>(s: &S, check: &mut Check, recording: &[Recorded], here: &str) -> Verdict {
    let sets = sets(here);
    let got = run(s, Some(trajectory(recording)?), &sets)?;
    compare(s, check, &got, &sets, recording)
}

/// Adds the case for one with these skips.
fn by<S: Backend>(s: &S, check: &mut Check, there: &str, here: &str) -> Verdict {
    along(s, check, &recorded(there), here)
}

fn led<S: Backend>(cases: &mut Cases<S>) {
    cases.add("-", "the_scale_takes_the_recorded_values", |s: &S, check| {
        let mut other = rule();
        (other.growth_exponent, other.growth_interval, other.backoff_exponent) = (2, 1, 3);
        along(s, check, &recorded_by(&other, "0010000"), "0010000")
    });
    for (sentence, there, here) in [
        ("a_recorded_skip_is_skipped_though_its_gradients_are_finite", "0100110", "0000000"),
        ("an_overflow_that_the_recording_has_not_skips_and_is_told", "0000000", "0100110"),
        ("a_run_whose_every_overflow_was_recorded_has_not_parted", "0110100", "0110100"),
    ] {
        cases.add("-", sentence, move |s: &S, check| by(s, check, there, here));
    }
}

fn ends<S: Backend>(cases: &mut Cases<S>) {
    for (sentence, there, here) in [
        ("after_its_end_the_run_goes_on_by_its_own_rule", "010", "010001000"),
        ("a_skip_recorded_last_halts_nothing_after_it", "001", "0000000"),
        ("an_empty_recording_leaves_the_run_to_its_own_rule", "", "010001000"),
    ] {
        cases.add("-", sentence, move |s: &S, check| by(s, check, there, here));
    }
}

/// One records itself; two with other gradients follow it, and each other.
fn two_runs<S: Backend>(cases: &mut Cases<S>) {
    let sentence = "two_runs_that_follow_one_recording_skip_alike";
    cases.add("-", sentence, |s: &S, check| {
        let bits = "0110010001";
        let first = run(s, None, &sets(bits))?;
        compare(s, check, &first, &sets(bits), &[])?;
        let skips = |walked: &crate::RunResult<Tensor<S>>| -> Vec<(bool, ScaleState)> {
            let of = |step: &Step| step.report().steps.iter().any(|step| step.skipped);
            walked.steps.iter().map(|(step, _)| (of(step), step.report().scale)).collect()
        };
        for here in ["0000000000", "0110000000"] {
            let second = run(s, Some(first.recording.clone()), &sets(here))?;
            let (got, wanted) = (skips(&second), skips(&first));
            check.equal(here, format!("{got:?}"), format!("{wanted:?}"))?;
            compare(s, check, &second, &sets(here), &recorded(bits))?;
        }
        Ok(())
    });
}

fn at_random<S: Backend>(cases: &mut Cases<S>) {
    cases.add("-", "fifty_iterations_at_random", |s: &S, check| {
        let mut draw = Draw::new(19);
        let mut bits = |length: usize| -> String {
            (0..length).map(|_| if draw.bits().is_multiple_of(4) { '1' } else { '0' }).collect()
        };
        let (there, here) = (bits(40), bits(50));
        by(s, check, &there, &here)
    });
}

/// Agreement: bits. Scales are the recorded ones, and skips are decided by what is finite.
pub(super) const AGREEMENT: Agrees = |_| Agreement::Bits;

// The oracle.

/// An update that was recorded.
#[derive(Clone, Copy, Debug)]
struct Recorded {
    /// True where its step was skipped.
    skipped: bool,
    /// The state after it.
    after: ScaleState,
}

/// Outcome of an iteration.
#[derive(Clone, Copy, Debug)]
struct ExpectedRun {
    /// The scale that its loss is multiplied by.
    before: ScaleState,
    /// True where its step is skipped.
    skipped: bool,
    /// True where the recording says otherwise.
    parted: bool,
    /// The state after it.
    after: ScaleState,
}

/// A run from `start`, by `rule` where nothing is recorded.
fn follow(
    rule: &LossScale,
    start: ScaleState,
    recording: &[Recorded],
    run: &[Grads<'_>],
) -> Vec<ExpectedRun> {
    let mut before = start;
    let mut walked = Vec::new();
    for (index, grads) in run.iter().enumerate() {
        let factor = f64::from(before.significand) * 2.0_f64.powi(before.exponent);
        let found = unscale(grads, factor).1;
        let overflow = found.first.is_some();
        let step = if let Some(there) = recording.get(index) {
            // "A step that was skipped in the recording is skipped, whether or not it overflows in this run."
            let skipped = there.skipped || overflow;
            let parted = overflow && !there.skipped;
            ExpectedRun { before, skipped, parted, after: there.after }
        } else {
            // "After the last recorded update the run goes on by its own rule, from the state that the recording ends in."
            let skipped = overflow || before.diverged;
            let seen = UpdateInputs { overflow: skipped, skipped, magnitude: 0.0 };
            ExpectedRun { before, skipped, parted: false, after: update(rule, &before, seen) }
        };
        before = step.after;
        walked.push(step);
    }
    walked
}
