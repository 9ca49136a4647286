//! The scale's move: every branch of the rule, each update from a state that the kit gives.

mod log_max;
mod presets;
mod tolerance;

use super::values::Draw;
use crate::oracle::scale_update::update;
use crate::{Cases, Check, Operation::ScaleUpdate, Pass, Round, Stop, Subject, Verdict};
use binade_grad_scaler::{LossScale, ScaleState};

/// What an iteration saw.
#[derive(Clone, Copy)]
enum Saw {
    Good,
    /// An overflow in a step, which was skipped.
    Skip,
    /// An overflow in a part that was left out; no step was skipped.
    Dropped,
}
use Saw::{Dropped, Good, Skip};

impl Saw {
    fn round(self) -> Round {
        self.with(1.0)
    }

    /// With a largest finite gradient of this size.
    fn with(self, magnitude: f32) -> Round {
        let (part, verdict) = match self {
            Good => (false, false),
            Skip => (true, true),
            Dropped => (true, false),
        };
        let [part, verdict] = [part, verdict].map(|raised| Pass { raised, magnitude });
        Round { parts: vec![part], verdicts: vec![verdict] }
    }

    /// Any, a good one twice as often as an overflow.
    fn any(draw: &mut Draw) -> Self {
        let saw = [Good, Good, Good, Skip, Dropped, Skip, Good, Good];
        saw[usize::from(draw.bits().to_le_bytes()[0] % 8)]
    }
}

pub(super) fn add<S: Subject>(cases: &mut Cases<S>) {
    growth(cases);
    limits(cases);
    divergence(cases);
    flags(cases);
    at_random(cases);
    tolerance::add(cases);
    log_max::add(cases);
    presets::add(cases);
}

/// The default rule, changed.
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

/// One update from `state`, compared whole; gives the state that the oracle wants.
fn one<S: Subject>(
    s: &S,
    check: &mut Check,
    rule: &LossScale,
    state: ScaleState,
    round: &Round,
) -> Result<ScaleState, Stop> {
    let wanted = update(rule, &state, round.seen());
    let got = s.update_scale(rule, state, round)?;
    check.equal((rule, state, round), told(&got), told(&wanted))?;
    Ok(wanted)
}

/// A state with its significand as bits.
fn told(state: &ScaleState) -> String {
    format!("{state:?}, significand {:#010x}", state.significand.to_bits())
}

fn single<S: Subject>(
    cases: &mut Cases<S>,
    sentence: &str,
    rule: LossScale,
    states: Vec<ScaleState>,
    saw: Saw,
) {
    cases.add(ScaleUpdate, "-", sentence, move |s: &S, check| {
        states.iter().try_for_each(|&state| one(s, check, &rule, state, &saw.round()).map(drop))
    });
}

fn sequence<S: Subject>(cases: &mut Cases<S>, sentence: &str, rule: LossScale, saw: Vec<Saw>) {
    cases.add(ScaleUpdate, "-", sentence, move |s: &S, check| -> Verdict {
        let mut state = rule.start();
        for saw in &saw {
            state = one(s, check, &rule, state, &saw.round())?;
        }
        Ok(())
    });
}

fn growth<S: Subject>(cases: &mut Cases<S>) {
    for interval in [1, 2, 3, 10] {
        let rule = rule(|rule| {
            rule.growth_interval = interval;
        });
        let sentence = format!("grows_after_{interval}_good_steps_and_not_before");
        sequence(cases, &sentence, rule, vec![Good; 25]);
    }
    let three = rule(|rule| {
        rule.growth_interval = 3;
    });
    let broken = vec![Good, Good, Skip, Good, Good, Good, Good, Dropped, Good, Good, Good];
    sequence(cases, "an_overflow_starts_the_count_of_good_steps_anew", three, broken);
    let wide = rule(|rule| {
        rule.growth_exponent = 3;
        rule.backoff_exponent = 2;
        rule.growth_interval = 2;
    });
    let both = vec![Good, Good, Good, Skip];
    sequence(cases, "moves_by_as_many_binades_as_the_rule_says", wide, both);

    let beyond = vec![ScaleState { good_steps: 1000, ..three.start() }];
    single(cases, "grows_where_the_interval_was_lowered_below_the_count", three, beyond, Good);
    let rule = LossScale::dynamic();
    let counted = |good_steps| ScaleState { good_steps, ..rule.start() };
    let around = [2, 1].map(|before| counted(rule.growth_interval - before)).to_vec();
    single(cases, "the_default_interval_is_kept_to_the_step", rule, around, Good);
}

fn limits<S: Subject>(cases: &mut Cases<S>) {
    let high = rule(|rule| {
        rule.growth_interval = 1;
        rule.init_exponent = 22;
    });
    sequence(cases, "growth_stops_at_the_ceiling", high, vec![Good; 5]);
    let wide = rule(|rule| {
        rule.init_exponent = 3;
        rule.backoff_exponent = 2;
    });
    sequence(cases, "a_step_down_ends_at_the_floor", wide, vec![Skip; 3]);
    let mixed = vec![Good, Skip, Good, Dropped];
    sequence(cases, "a_fixed_scale_does_not_move", fixed_at(7), mixed.clone());
    sequence(cases, "no_scaling_stays_at_one", LossScale::none(), mixed);
    let imported: Vec<ScaleState> =
        [3000.0, 1e-3].into_iter().filter_map(ScaleState::import).collect();
    let quick = rule(|rule| {
        rule.growth_interval = 1;
        rule.min_exponent = -20;
    });
    let high = vec![ScaleState { significand: 1.5, ..ScaleState::from_exponent(125) }];
    let open = rule(|rule| {
        rule.growth_interval = 1;
        rule.max_exponent = 126;
    });
    let sentence = "an_imported_scale_never_grows_beyond_a_normal_inverse";
    single(cases, sentence, open, high, Good);
    for (sentence, saw) in [
        ("an_imported_significand_survives_growth", Good),
        ("an_imported_significand_survives_backoff", Skip),
    ] {
        single(cases, sentence, quick, imported.clone(), saw);
    }
}

fn divergence<S: Subject>(cases: &mut Cases<S>) {
    let low = rule(|rule| {
        rule.init_exponent = 2;
    });
    sequence(cases, "an_overflow_at_the_floor_is_divergence", low, vec![Skip; 4]);
    let impatient = rule(|rule| {
        rule.patience = 3;
    });
    let broken = vec![Skip, Skip, Good, Skip, Skip, Dropped, Skip, Skip, Skip];
    sequence(cases, "patience_counts_skips_in_a_row", impatient, broken);
    let after = vec![Skip, Skip, Skip, Good, Good, Skip, Dropped];
    sequence(cases, "divergence_latches_and_goes_on_counting", impatient, after);
}

fn flags<S: Subject>(cases: &mut Cases<S>) {
    cases.add(ScaleUpdate, "-", "any_raised_part_or_verdict_backs_off_once", |s: &S, check| {
        let rule = LossScale::dynamic();
        for flags in 0..32_u32 {
            let bit = |n: u32| Pass::new(flags >> n & 1 == 1);
            let (parts, verdicts) = (vec![bit(0), bit(1), bit(2)], vec![bit(3), bit(4)]);
            one(s, check, &rule, rule.start(), &Round { parts, verdicts })?;
        }
        Ok(())
    });
    cases.add(
        ScaleUpdate,
        "-",
        "each_of_up_to_nine_findings_counts_wherever_it_stands",
        |s: &S, check| {
            let rule = LossScale::dynamic();
            for (parts, verdicts) in
                (0..6).flat_map(|parts| (0..5).map(move |verdicts| (parts, verdicts)))
            {
                for place in 0..parts + verdicts {
                    let pass = |n| Pass::new(n == place);
                    let round = Round {
                        parts: (0..parts).map(pass).collect(),
                        verdicts: (parts..parts + verdicts).map(pass).collect(),
                    };
                    one(s, check, &rule, rule.start(), &round)?;
                }
            }
            Ok::<(), Stop>(())
        },
    );
    cases.add(ScaleUpdate, "-", "an_iteration_without_steps_is_a_good_one", |s: &S, check| {
        let rule = LossScale::dynamic();
        one(s, check, &rule, rule.start(), &Round::default()).map(drop)
    });
}

fn at_random<S: Subject>(cases: &mut Cases<S>) {
    let sentence = "ten_thousand_updates_stay_within_the_limits";
    cases.add(ScaleUpdate, "-", sentence, |s: &S, check| {
        let rule = rule(|rule| {
            rule.growth_interval = 4;
            rule.min_exponent = -30;
        });
        let (mut draw, mut state) = (Draw::new(11), rule.start());
        for _ in 0..10_000 {
            state = one(s, check, &rule, state, &Saw::any(&mut draw).round())?;
            // Divergence would freeze the rest.
            state.diverged = false;
        }
        Ok(())
    });
}
