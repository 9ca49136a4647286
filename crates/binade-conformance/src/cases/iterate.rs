//! Runs that stay on the device: stages in order, a scale that changes, and divergence that is permanent.
//!
//! The oracle unscales each pass by the current scale, joins the found-inf results, and updates the scale.

use super::merge::merge;
use super::prelude::*;
use super::scale_update::update;
use super::unscale::{Set, set, told, unscale, upload};
use crate::{Iteration, ScaleTrace};
use binade_grad_scaler::{LossScale, MergeRule, ScaleState, UpdateInputs};

/// Found-inf results of an iteration's passes, and the rule that joins them.
#[derive(Clone, Debug)]
struct IterationOf {
    parts: Vec<Set>,
    join: MergeRule,
}

fn good() -> IterationOf {
    IterationOf { parts: vec![set(DType::F32, 1.0, "w: 8 -2 1")], join: MergeRule::Any }
}

fn bad() -> IterationOf {
    IterationOf { parts: vec![set(DType::F32, 1.0, "w: 8 -inf nan")], join: MergeRule::Any }
}

/// Returns an iteration of two passes of which one overflows: a skip, or a dropped part.
fn mixed(join: MergeRule) -> IterationOf {
    IterationOf { parts: [good().parts, bad().parts].concat(), join }
}

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    moves(cases);
    clones(cases);
    divergence(cases);
    at_random(cases);
}

fn rule(change: impl FnOnce(&mut LossScale)) -> LossScale {
    let mut rule = LossScale::dynamic();
    rule.init_exponent = 8;
    rule.growth_interval = 2;
    change(&mut rule);
    rule
}

/// A run on the device and by the oracle.
struct Ran {
    got: ScaleTrace,
    wanted: Vec<ExpectedIteration>,
    scale: String,
}

/// Runs the iterations. `keep` is true to keep a clone of the scale across an iteration's update.
fn run<S: Backend>(
    s: &S,
    rule: &LossScale,
    start: ScaleState,
    rounds: &[IterationOf],
    keep: impl Fn(usize) -> bool,
) -> Result<Ran, CaseError> {
    let device = |(index, round): (usize, &IterationOf)| {
        let parts =
            round.parts.iter().map(|set| upload(s, set)).collect::<Result<_, CaseError>>()?;
        Ok(Iteration { parts, join: round.join, keep: keep(index) })
    };
    let iterations = rounds.iter().enumerate().map(device).collect::<Result<_, CaseError>>()?;
    let (wanted, scale) = iterate(rule, start, rounds);
    let got = s.iterate(rule, start, iterations)?;
    Ok(Ran { got, wanted, scale: format!("{scale:?}") })
}

impl Ran {
    /// Compares the found-inf results of the passes, the joined results, and the final scale.
    fn compare(&self, check: &mut Check, rounds: &[IterationOf]) -> Verdict {
        let stages = (self.got.stages.len(), self.wanted.len());
        check.equal(rounds, format!("{} stages", stages.0), format!("{} stages", stages.1))?;
        for (index, (got, wanted)) in self.got.stages.iter().zip(&self.wanted).enumerate() {
            let parts: Vec<String> = wanted.parts.iter().map(told).collect();
            let wanted = (parts, wanted.verdict.as_ref().map(told));
            let got = (
                got.parts.iter().map(told).collect::<Vec<_>>(),
                got.verdict.as_ref().map(|found| told(&parted(found))),
            );
            let place = (index, &rounds[..=index]);
            check.equal(place, format!("{got:?}"), format!("{wanted:?}"))?;
        }
        check.equal(rounds, format!("{:?}", self.got.scale), self.scale.clone())
    }
}

/// Returns a joined result without the fields that stay with its parts.
fn parted(found: &FoundInf) -> FoundInf {
    FoundInf { missing: Vec::new(), ..found.clone() }
}

fn moves<S: Backend>(cases: &mut Cases<S>) {
    let mut add = |sentence: &str, rounds: Vec<IterationOf>| {
        cases.add("-", sentence, move |s: &S, check| {
            let rule = rule(|_| ());
            run(s, &rule, rule.start(), &rounds, |_| false)?.compare(check, &rounds)
        });
    };
    let each = |bits: &str| -> Vec<IterationOf> {
        bits.chars().map(|bit| if bit == '1' { bad() } else { good() }).collect()
    };
    add("each_iteration_goes_by_its_own_verdict", each("0100110"));
    add("the_scale_that_moved_is_the_next_ones", each("0000111"));
    add("one_raised_pass_of_any_skips_and_backs_off_once", vec![mixed(MergeRule::Any), good()]);
    add("a_pass_left_out_backs_off_and_skips_nothing", vec![mixed(MergeRule::All), good()]);
    let nothing = IterationOf { parts: vec![], join: MergeRule::Any };
    add("an_iteration_without_a_pass_is_a_good_one", vec![nothing.clone(), nothing, good()]);
    // 0.001 grows to 0.002. Its inverse brings the first of the two large gradients just below infinity, the second just above.
    cases.add("-", "an_imported_scale_that_grew_unscales_by_its_inverse", |s: &S, check| {
        let rule = rule(|rule| rule.min_exponent = -20);
        let large = |grads| IterationOf { parts: vec![set(DType::F32, 1.0, grads)], ..good() };
        let rounds = [good(), good(), large("w: 6.7e35 1"), large("w: 6.9e35 1"), good()];
        let start = ScaleState::import(1e-3).unwrap_or_else(|| rule.start());
        run(s, &rule, start, &rounds, |_| false)?.compare(check, &rounds)
    });
    cases.add("-", "what_was_read_is_ready", |s: &S, check| {
        let rounds = [good(), bad()];
        let rule = rule(|_| ());
        let ran = run(s, &rule, rule.start(), &rounds, |_| false)?;
        let ready: Vec<bool> = ran.got.stages.iter().map(|stage| stage.ready).collect();
        check.equal(&rounds, format!("{ready:?}"), format!("{:?}", [true; 2]))
    });
}

/// Adds cases of clones: a clone made before an update keeps its value. Without a clone, the update may be in place.
fn clones<S: Backend>(cases: &mut Cases<S>) {
    cases.add("-", "an_earlier_clone_reads_what_it_did", |s: &S, check| {
        let rounds = [good(), good(), bad(), good(), bad(), bad(), good(), good()];
        let rule = rule(|_| ());
        for keep in [[true; 2], [true, false], [false, true]] {
            let ran = run(s, &rule, rule.start(), &rounds, |index| keep[index % 2])?;
            for (stage, wanted) in ran.got.stages.iter().zip(&ran.wanted) {
                if let Some(before) = &stage.before {
                    check.equal(&rounds, format!("{before:?}"), format!("{:?}", wanted.before))?;
                }
            }
        }
        Ok(())
    });
}

fn divergence<S: Backend>(cases: &mut Cases<S>) {
    let mut add = |sentence: &str, rule: LossScale, rounds: Vec<IterationOf>| {
        cases.add("-", sentence, move |s: &S, check| {
            run(s, &rule, rule.start(), &rounds, |_| false)?.compare(check, &rounds)
        });
    };
    let at_floor = rule(|rule| rule.init_exponent = 0);
    add("divergence_halts_what_follows_unread", at_floor, vec![good(), bad(), good(), good()]);
    let impatient = rule(|rule| rule.patience = 2);
    let all = IterationOf { parts: [good().parts, good().parts].concat(), join: MergeRule::All };
    add("divergence_halts_whatever_it_is_joined_with", impatient, vec![bad(), bad(), all, good()]);
}

fn at_random<S: Backend>(cases: &mut Cases<S>) {
    cases.add("-", "a_hundred_iterations_at_random", |s: &S, check| {
        let mut draw = Draw::new(17);
        let mut round = || match draw.bits() % 8 {
            0 => bad(),
            1 => mixed(MergeRule::Any),
            2 => mixed(MergeRule::All),
            _ => good(),
        };
        let rounds: Vec<IterationOf> = (0..100).map(|_| round()).collect();
        let rule = rule(|rule| rule.min_exponent = -30);
        run(s, &rule, rule.start(), &rounds, |index| index % 3 == 0)?.compare(check, &rounds)
    });
}

// The oracle.

/// Outcome of one iteration.
#[derive(Clone, Debug)]
struct ExpectedIteration {
    /// The scale before the update.
    before: ScaleState,
    /// Found-inf results of each pass.
    parts: Vec<FoundInf>,
    /// Joined result; `None` without a pass.
    verdict: Option<FoundInf>,
}

/// Returns the outcome of each iteration, and the scale after the last.
fn iterate(
    rule: &LossScale,
    start: ScaleState,
    run: &[IterationOf],
) -> (Vec<ExpectedIteration>, ScaleState) {
    let mut now = start;
    let mut stages = vec![];
    for IterationOf { parts, join } in run {
        let parts: Vec<FoundInf> = parts.iter().map(|part| unscale(part, now).1).collect();
        let verdict = parts.iter().cloned().reduce(|all, part| merge(&all, &part, *join));
        let skipped = verdict.as_ref().is_some_and(FoundInf::is_raised);
        let overflow = skipped || parts.iter().any(FoundInf::is_raised);
        let magnitude = parts.iter().map(|part| part.magnitude).fold(0.0, f32::max);
        stages.push(ExpectedIteration { before: now, parts, verdict });
        now = update(rule, &now, UpdateInputs { overflow, skipped, magnitude });
    }
    (stages, now)
}
