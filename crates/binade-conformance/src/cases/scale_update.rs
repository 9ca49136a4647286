//! Updates of the scale: every branch of the rule, each update from a given state.
//!
//! The oracle goes by the documentation of `LossScale`, sentence by sentence.

mod log_max;
mod tolerance;

use super::prelude::*;
use crate::{IterationFindings, PassFinding};
use binade_grad_scaler::{LossScale, ScaleState, Tolerance, UpdateInputs};

/// Found-inf result of an iteration.
#[derive(Clone, Copy)]
enum Saw {
    Good,
    /// An overflow in a step, which was skipped.
    Skip,
    /// An overflow in a dropped part; no step was skipped.
    Dropped,
}
use Saw::{Dropped, Good, Skip};

impl Saw {
    fn round(self) -> IterationFindings {
        self.with(1.0)
    }

    /// Returns the findings with `magnitude` as the largest finite gradient.
    fn with(self, magnitude: f32) -> IterationFindings {
        let (part, verdict) = match self {
            Good => (false, false),
            Skip => (true, true),
            Dropped => (true, false),
        };
        let [part, verdict] = [part, verdict].map(|raised| PassFinding { raised, magnitude });
        IterationFindings { parts: vec![part], verdicts: vec![verdict] }
    }

    /// Draws a result; a good one is twice as likely as an overflow.
    fn any(draw: &mut Draw) -> Self {
        let saw = [Good, Good, Good, Skip, Dropped, Skip, Good, Good];
        saw[usize::from(draw.bits().to_le_bytes()[0] % 8)]
    }
}

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    growth(cases);
    limits(cases);
    divergence(cases);
    flags(cases);
    at_random(cases);
    tolerance::add_cases(cases);
    log_max::add_cases(cases);
    presets(cases);
}

/// Returns the default rule with this change.
fn rule(change: impl FnOnce(&mut LossScale)) -> LossScale {
    let mut rule = LossScale::dynamic();
    change(&mut rule);
    rule
}

/// A rule that stays at `2^exponent`.
fn fixed_at(exponent: i32) -> LossScale {
    let mut rule = LossScale::none();
    (rule.init_exponent, rule.min_exponent, rule.max_exponent) = (exponent, exponent, exponent);
    rule
}

/// Compares all of the state after one update from `state`, and returns the oracle's.
fn one<S: Backend>(
    s: &S,
    check: &mut Check,
    rule: &LossScale,
    state: ScaleState,
    round: &IterationFindings,
) -> Result<ScaleState, CaseError> {
    let wanted = update(rule, &state, round.seen());
    let got = s.update_scale(rule, state, round)?;
    check.equal((rule, state, round), told(&got), told(&wanted))?;
    Ok(wanted)
}

/// Returns a state as text, with its significand as bits.
fn told(state: &ScaleState) -> String {
    format!("{state:?}, significand {:#010x}", state.significand.to_bits())
}

fn single<S: Backend>(
    cases: &mut Cases<S>,
    sentence: &str,
    rule: LossScale,
    states: Vec<ScaleState>,
    saw: Saw,
) {
    cases.add("-", sentence, move |s: &S, check| {
        states.iter().try_for_each(|&state| one(s, check, &rule, state, &saw.round()).map(drop))
    });
}

/// Adds a case of updates from the rule's start, with one letter for each: good, skipped, dropped.
fn sequence<S: Backend>(cases: &mut Cases<S>, sentence: &str, rule: LossScale, letters: &str) {
    let read = |letter| match letter {
        's' => (Skip, 1.0),
        'd' => (Dropped, 1.0),
        _ => (Good, 1.0),
    };
    through(cases, sentence, rule, letters.chars().map(read).collect());
}

/// Adds a case of updates from the rule's start, each with its largest finite gradient.
fn through<S: Backend>(
    cases: &mut Cases<S>,
    sentence: &str,
    rule: LossScale,
    seen: Vec<(Saw, f32)>,
) {
    cases.add("-", sentence, move |s: &S, check| run(s, check, &rule, rule.start(), &seen));
}

fn run<S: Backend>(
    s: &S,
    check: &mut Check,
    rule: &LossScale,
    start: ScaleState,
    seen: &[(Saw, f32)],
) -> Verdict {
    let each =
        |state, (saw, magnitude): &(Saw, f32)| one(s, check, rule, state, &saw.with(*magnitude));
    seen.iter().try_fold(start, each).map(drop)
}

fn growth<S: Backend>(cases: &mut Cases<S>) {
    for interval in [1, 2, 3, 10] {
        let rule = rule(|rule| rule.growth_interval = interval);
        let sentence = format!("grows_after_{interval}_good_steps_and_not_before");
        sequence(cases, &sentence, rule, &"g".repeat(25));
    }
    let three = rule(|rule| rule.growth_interval = 3);
    sequence(cases, "an_overflow_starts_the_count_of_good_steps_anew", three, "ggsggggdggg");
    let wide = |rule: &mut LossScale| {
        (rule.growth_exponent, rule.backoff_exponent, rule.growth_interval) = (3, 2, 2);
    };
    sequence(cases, "moves_by_as_many_binades_as_the_rule_says", rule(wide), "gggs");

    let beyond = vec![ScaleState { good_steps: 1000, ..three.start() }];
    single(cases, "grows_where_the_interval_was_lowered_below_the_count", three, beyond, Good);
    let rule = LossScale::dynamic();
    let counted = |good_steps| ScaleState { good_steps, ..rule.start() };
    let around = [2, 1].map(|before| counted(rule.growth_interval - before)).to_vec();
    single(cases, "the_default_interval_is_kept_to_the_step", rule, around, Good);
}

fn limits<S: Backend>(cases: &mut Cases<S>) {
    let high = rule(|rule| (rule.growth_interval, rule.init_exponent) = (1, 22));
    sequence(cases, "growth_stops_at_the_ceiling", high, "ggggg");
    let wide = rule(|rule| (rule.init_exponent, rule.backoff_exponent) = (3, 2));
    sequence(cases, "a_step_down_ends_at_the_floor", wide, "sss");
    sequence(cases, "a_fixed_scale_does_not_move", fixed_at(7), "gsgd");
    sequence(cases, "no_scaling_stays_at_one", LossScale::none(), "gsgd");
    let open = rule(|rule| (rule.growth_interval, rule.max_exponent) = (1, 126));
    let high = vec![ScaleState { significand: 1.5, ..ScaleState::from_exponent(125) }];
    single(cases, "an_imported_scale_never_grows_beyond_a_normal_inverse", open, high, Good);
    let quick = rule(|rule| (rule.growth_interval, rule.min_exponent) = (1, -20));
    let imported: Vec<_> = [3000.0, 1e-3].into_iter().filter_map(ScaleState::import).collect();
    single(cases, "an_imported_significand_survives_growth", quick, imported.clone(), Good);
    single(cases, "an_imported_significand_survives_backoff", quick, imported, Skip);
}

fn divergence<S: Backend>(cases: &mut Cases<S>) {
    let low = rule(|rule| rule.init_exponent = 2);
    sequence(cases, "an_overflow_at_the_floor_is_divergence", low, "ssss");
    let impatient = rule(|rule| rule.patience = 3);
    sequence(cases, "patience_counts_skips_in_a_row", impatient, "ssgssdsss");
    sequence(cases, "divergence_latches_and_goes_on_counting", impatient, "sssggsd");
}

fn flags<S: Backend>(cases: &mut Cases<S>) {
    cases.add("-", "any_raised_part_or_verdict_backs_off_once", |s: &S, check| {
        let rule = LossScale::dynamic();
        for flags in 0..32_u32 {
            let bit = |n: u32| PassFinding::new(flags >> n & 1 == 1);
            let (parts, verdicts) = (vec![bit(0), bit(1), bit(2)], vec![bit(3), bit(4)]);
            one(s, check, &rule, rule.start(), &IterationFindings { parts, verdicts })?;
        }
        Ok(())
    });
    cases.add("-", "each_of_up_to_nine_findings_counts_wherever_it_stands", |s: &S, check| {
        let rule = LossScale::dynamic();
        for (parts, verdicts) in
            (0..6).flat_map(|parts| (0..5).map(move |verdicts| (parts, verdicts)))
        {
            for place in 0..parts + verdicts {
                let pass = |n| PassFinding::new(n == place);
                let round = IterationFindings {
                    parts: (0..parts).map(pass).collect(),
                    verdicts: (parts..parts + verdicts).map(pass).collect(),
                };
                one(s, check, &rule, rule.start(), &round)?;
            }
        }
        Ok::<(), CaseError>(())
    });
    cases.add("-", "an_iteration_without_steps_is_a_good_one", |s: &S, check| {
        let rule = LossScale::dynamic();
        one(s, check, &rule, rule.start(), &IterationFindings::default()).map(drop)
    });
}

fn at_random<S: Backend>(cases: &mut Cases<S>) {
    let sentence = "a_thousand_updates_stay_within_the_limits";
    cases.add("-", sentence, |s: &S, check| {
        let rule = rule(|rule| (rule.growth_interval, rule.min_exponent) = (4, -30));
        let (mut draw, mut state) = (Draw::new(11), rule.start());
        for _ in 0..1_000 {
            state = one(s, check, &rule, state, &Saw::any(&mut draw).round())?;
            // Divergence would freeze the rest.
            state.diverged = false;
        }
        Ok(())
    });
}

/// Adds cases of every preset, from its own start, with all results of an iteration.
fn presets<S: Backend>(cases: &mut Cases<S>) {
    for &(name, preset) in LossScale::PRESETS {
        let sentence = format!("{}_moves_as_documented", name.replace('-', "_"));
        cases.add("-", &sentence, move |s: &S, check| {
            let mut quick = preset;
            quick.growth_interval = 3;
            for (seed, rule) in [preset, quick].into_iter().enumerate() {
                let (mut draw, mut state) = (Draw::new(seed), rule.start());
                for number in 0..80_u16 {
                    let magnitude = 0.01 * f32::from(number);
                    state = one(s, check, &rule, state, &Saw::any(&mut draw).with(magnitude))?;
                    // Divergence would freeze the rest.
                    state.diverged = false;
                }
            }
            Ok(())
        });
    }
}

// The oracle.

/// Returns the state after an iteration with these inputs.
pub(super) fn update(rule: &LossScale, old: &ScaleState, seen: UpdateInputs) -> ScaleState {
    let mut new = *old;
    new.before = old.exponent;

    // Every update counts, on a run that has diverged too.
    new.updates = old.updates + 1;
    if seen.overflow {
        new.overflows = old.overflows + 1;
    }
    if seen.skipped {
        new.skipped = old.skipped + 1;
    }
    new.bad_steps = if seen.skipped { old.bad_steps + 1 } else { 0 };

    // Divergence is permanent: nothing else changes.
    if old.diverged {
        return new;
    }

    new.since_move = old.since_move + 1;
    if seen.overflow {
        overflow(rule, &mut new);
    } else {
        good(rule, &mut new);
    }

    // "With `log_max` the scale is what that predicts, at every update; growth and backoff move nothing."
    if let Some(predicts) = &rule.log_max {
        log_max::learn(predicts, &mut new, seen);
        let predicted = log_max::exponent(predicts, &new);
        new.exponent = predicted.map_or(old.exponent, |exponent| within(exponent, rule, &new));
    }
    new
}

fn overflow(rule: &LossScale, new: &mut ScaleState) {
    // "An overflow at the lowest scale, or `patience` skips in a row, is divergence and not another halving."
    if new.bad_steps >= rule.patience {
        new.diverged = true;
    }
    // "An overflow that `tolerance` lets pass skips its step, counts no good steps on, and leaves the scale."
    new.good_steps = 0;
    new.tolerated += 1;
    if passes(rule.tolerance, new) {
        return;
    }
    let may_fall = rule.backoff_exponent > 0 || rule.log_max.is_some();
    if may_fall && new.exponent <= rule.min_exponent {
        new.diverged = true;
    }
    new.exponent = within((new.exponent - rule.backoff_exponent).into(), rule, new);
    new.since_move = 0;
    // "From the `overflows`-th … on, each backs off" but for "each `overflows`-th in a row" and "since the last step down".
    let stays_spent =
        matches!(rule.tolerance, Tolerance::UntilGoodStep { .. } | Tolerance::UntilGrowth { .. });
    if !stays_spent {
        new.tolerated = 0;
    }
}

fn good(rule: &LossScale, new: &mut ScaleState) {
    new.good_steps += 1;
    match rule.tolerance {
        // "Since the scale last grew"; "since the scale last moved"; "since the last step down".
        Tolerance::UntilGrowth { .. } | Tolerance::SinceMove { .. } | Tolerance::Share { .. } => {}
        // "Since the last good step"; "in a row".
        _ => new.tolerated = 0,
    }
    if rule.growth_exponent > 0 && new.good_steps >= rule.growth_interval {
        new.exponent = within((new.exponent + rule.growth_exponent).into(), rule, new);
        new.good_steps = 0;
        // "A growth restarts the updates of" a share "and not the overflows".
        new.since_move = 0;
        if !matches!(rule.tolerance, Tolerance::Share { .. }) {
            new.tolerated = 0;
        }
    }
}

/// Returns true if the tolerance lets the last counted overflow pass.
fn passes(tolerance: Tolerance, new: &ScaleState) -> bool {
    match tolerance {
        Tolerance::None => false,
        Tolerance::UntilGoodStep { overflows }
        | Tolerance::UntilGrowth { overflows }
        | Tolerance::InARow { overflows }
        | Tolerance::SinceMove { overflows } => new.tolerated < overflows,
        // Both are exact in f64.
        Tolerance::Share { of_65536 } => {
            let least = f64::from(of_65536) * f64::from(new.since_move);
            f64::from(new.tolerated) * 65536.0 < least
        }
    }
}

/// "Whatever happens, the exponent that a rule moves to is within `min..=max` and ±126", and a scale above a power of two
/// has a normal inverse too.
fn within(exponent: i64, rule: &LossScale, new: &ScaleState) -> i32 {
    let highest = if new.significand > 1.0 { 125 } else { 126 };
    let (min, max) = (rule.min_exponent.max(-126), rule.max_exponent.min(highest));
    i32::try_from(exponent.min(max.into()).max(min.into())).unwrap_or(max)
}
