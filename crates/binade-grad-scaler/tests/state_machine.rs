//! Any sequence under any rule: the scale stays within its limits, counters add up, and a skip leaves every bit alone.

use crate::common::sgd::Sgd;
use crate::common::{HostScaler, Result, finish, iterate, rule, scaler, window};
use binade_grad_scaler::{
    Averages, BadMicroBatch, LogMax, LossScale, ScaleState, Step, Tolerance, UpdateInputs,
};
use proptest::prelude::*;

const GOOD: UpdateInputs = UpdateInputs { overflow: false, skipped: false, magnitude: 0.0 };
const SKIP: UpdateInputs = UpdateInputs { overflow: true, skipped: true, magnitude: 0.0 };
const DROPPED: UpdateInputs = UpdateInputs { overflow: true, skipped: false, magnitude: 0.0 };

fn any_seen() -> impl Strategy<Value = UpdateInputs> {
    let magnitude = prop_oneof![3 => 1e-30_f32..1e30, 1 => Just(0.0), 1 => Just(f32::MIN_POSITIVE)];
    let seen = prop_oneof![3 => Just(GOOD), 2 => Just(SKIP), 1 => Just(DROPPED)];
    (seen, magnitude).prop_map(|(seen, magnitude)| UpdateInputs { magnitude, ..seen })
}

fn any_tolerance() -> impl Strategy<Value = Tolerance> {
    prop_oneof![
        Just(Tolerance::None),
        (0_u32..5).prop_map(|overflows| Tolerance::UntilGoodStep { overflows }),
        (0_u32..5).prop_map(|overflows| Tolerance::UntilGrowth { overflows }),
        (0_u32..5).prop_map(|overflows| Tolerance::InARow { overflows }),
        (0_u32..65536).prop_map(|of_65536| Tolerance::Share { of_65536 }),
    ]
}

/// Every rule that the builders let through and that counts.
fn counting_rule() -> impl Strategy<Value = LossScale> {
    let limits = (-126_i32..=126, -126_i32..=126);
    (limits, -200..200, 0..5, 0..5, 1_u32..6, 1_u32..12).prop_map(
        |((a, b), init, growth, backoff, interval, patience)| {
            let fields = rule(|r| {
                (r.init_exponent, r.growth_exponent, r.backoff_exponent) = (init, growth, backoff);
            });
            let rule =
                fields.with_patience(patience).with_growth_interval(interval).expect("above 0");
            let [min, max] = [a.min(b), a.max(b)].map(|exponent| 2.0_f32.powi(exponent));
            rule.with_limits(min, max).expect("in order and in reach")
        },
    )
}

/// Rules with any tolerance.
fn any_rule() -> impl Strategy<Value = LossScale> {
    (counting_rule(), any_tolerance()).prop_map(|(rule, tolerance)| rule.with_tolerance(tolerance))
}

/// Rules with any tolerance, and rules that predict.
fn counting_or_predicting() -> impl Strategy<Value = LossScale> {
    let numbers = (-30..30, 0_u32..1 << 20, 0_u32..1 << 25, 0_u32..1 << 25);
    (any_rule(), prop::option::of(numbers)).prop_map(|(mut rule, numbers)| {
        rule.log_max = numbers.map(|(ceiling, deviations, weight, slow_weight)| {
            let mut predicts = LossScale::preset("log-max").unwrap().log_max.unwrap();
            (predicts.ceiling_exponent, predicts.deviations) = (ceiling, deviations);
            (predicts.weight, predicts.slow_weight) = (weight, slow_weight);
            predicts
        });
        rule
    })
}

/// Public fields, set to anything.
fn nonsense() -> impl Strategy<Value = LossScale> {
    let fields = (any::<[i32; 6]>(), any::<[u32; 5]>(), any_tolerance(), any::<bool>());
    fields.prop_map(|(signed, unsigned, tolerance, predicts)| {
        let [init, growth, backoff, min, max, ceiling] = signed;
        let [growth_interval, patience, deviations, weight, slow_weight] = unsigned;
        rule(|r| {
            (
                r.init_exponent,
                r.growth_exponent,
                r.backoff_exponent,
                r.min_exponent,
                r.max_exponent,
            ) = (init, growth, backoff, min, max);
            (r.growth_interval, r.patience, r.tolerance) = (growth_interval, patience, tolerance);
            let log_max = LogMax { ceiling_exponent: ceiling, deviations, weight, slow_weight };
            r.log_max = predicts.then_some(log_max);
        })
    })
}

fn states(rule: LossScale, seen: &[UpdateInputs]) -> Vec<ScaleState> {
    let steps = seen.iter().scan(rule.start(), |state, &seen| {
        *state = rule.next(*state, seen);
        Some(*state)
    });
    std::iter::once(rule.start()).chain(steps).collect()
}

/// An iteration that sees `seen`, whose good gradients are `x`.
fn act(scaler: &mut HostScaler, sgd: &mut Sgd, seen: UpdateInputs, x: f32) -> Result<Step> {
    if seen.overflow == seen.skipped {
        let x = if seen.overflow { f32::INFINITY } else { x };
        return iterate(scaler, sgd, &[("w", &[x])]);
    }
    finish(window(scaler, BadMicroBatch::Drop, &[x, f32::NAN])?, scaler, sgd)
}

proptest! {
    #[test]
    fn the_scale_stays_within_its_limits(
        rule in counting_or_predicting(),
        seen in prop::collection::vec(any_seen(), 0..200),
    ) {
        for state in states(rule, &seen) {
            prop_assert!((rule.min_exponent..=rule.max_exponent).contains(&state.exponent), "{state:?}");
            prop_assert!(state.factor().is_normal() && state.inverse().is_normal());
            prop_assert_eq!(state.factor() * state.inverse(), 1.0);
        }
    }

    #[test]
    fn nonsense_in_public_fields_neither_panics_nor_makes_a_scale_that_is_no_number(
        rule in nonsense(),
        (i, u) in any::<([i64; 3], [u32; 2])>(),
        seen in prop::collection::vec(any_seen(), 0..50),
    ) {
        let averages =
            Averages { mean: i[0], slow_mean: i[1], square: i[2], taken: u[0], slow_taken: u[1] };
        for averages in [Averages::default(), averages] {
            let mut state = ScaleState { averages, ..rule.start() };
            for &seen in &seen {
                state = rule.next(state, seen);
                prop_assert!(state.factor().is_normal() && state.inverse().is_normal(), "{state:?}");
            }
        }
    }

    #[test]
    fn counters_add_up(rule in counting_or_predicting(), seen in prop::collection::vec(any_seen(), 0..200)) {
        let count = |which: fn(&UpdateInputs) -> bool| seen.iter().filter(|s| which(s)).count() as u64;
        let all = states(rule, &seen);
        let last = all.last().expect("the start");
        prop_assert_eq!(last.updates, seen.len() as u64);
        prop_assert_eq!((last.skipped, last.overflows), (count(|s| s.skipped), count(|s| s.overflow)));
        prop_assert_eq!(last.applied() + last.skipped, last.updates);
        let in_a_row = seen.iter().rev().take_while(|s| s.skipped).count();
        prop_assert_eq!(last.bad_steps as usize, in_a_row);
    }

    #[test]
    fn one_update_moves_the_scale_by_one_growth_or_one_backoff_at_most(
        rule in any_rule(),
        seen in prop::collection::vec(any_seen(), 1..100),
    ) {
        for (pair, seen) in states(rule, &seen).windows(2).zip(&seen) {
            let (before, now) = (pair[0], pair[1]);
            let moved = now.exponent - before.exponent;
            prop_assert_eq!(now.before, before.exponent);
            let most = if seen.overflow { -rule.backoff_exponent..=0 } else { 0..=rule.growth_exponent };
            prop_assert!(most.contains(&moved), "{before:?} to {now:?}");
            prop_assert!(now.diverged || now.good_steps <= before.good_steps + 1);
        }
    }

    #[test]
    fn divergence_stays_and_freezes_the_scale(
        rule in counting_or_predicting(),
        seen in prop::collection::vec(any_seen(), 1..100),
    ) {
        for pair in states(rule, &seen).windows(2).filter(|pair| pair[0].diverged) {
            prop_assert!(pair[1].diverged);
            prop_assert_eq!(pair[0].exponent, pair[1].exponent);
        }
    }
}

/// Random words (Steele, Lea and Flood, `SplitMix`, 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from((z ^ (z >> 31)) % u64::from(end)).expect("below a word of 32 bits")
    }

    /// Returns a gradient of any size that matters, now and then 0.
    fn gradient(&mut self) -> f32 {
        let bits = (100 + self.below(50)) << 23 | self.below(1 << 23) | self.below(2) << 31;
        if self.below(50) == 0 { 0.0 } else { f32::from_bits(bits) }
    }
}

/// Runs these many steps of one parameter, in stretches in which so many of a thousand go wrong.
fn run(rule: LossScale, mut random: Random, steps: u32) {
    let (mut scaler, mut sgd) = (scaler(rule), Sgd::new(&[("w", &[100.0])]));
    let (mut bad, mut left) = (0, 0);
    for number in 0..steps {
        if left == 0 {
            left = 1 + random.below(rule.growth_interval.saturating_mul(3).max(20));
            bad = [0, 0, 2, 100, 500, 1000][random.below(6) as usize];
        }
        left -= 1;
        let goes_wrong = random.below(1000) < bad;
        let seen = [GOOD, SKIP, SKIP, SKIP, DROPPED];
        let seen = seen[if goes_wrong { 1 + random.below(4) as usize } else { 0 }];
        let (x, bits, was) = (random.gradient(), sgd.bits(), scaler.state().expect("a host"));
        let step = act(&mut scaler, &mut sgd, seen, x).expect("nothing is refused");
        let now = scaler.state().expect("a host");
        let told = || format!("step {number} of {rule:?}: {was:?} to {now:?}");
        let is_lost = seen.skipped || !(x * was.factor()).is_finite() || was.diverged;
        assert_eq!(step.report().steps[0].skipped, is_lost, "{}", told());
        let is_right = if is_lost { sgd.bits() == bits } else { sgd.steps == bits.2 + 1 };
        assert!(is_right, "{}", told());
        assert!(now.factor().is_normal() && now.inverse().is_normal(), "{}", told());
        assert_eq!(now.factor() * now.inverse(), 1.0, "{}", told());
        assert!((rule.min_exponent..=rule.max_exponent).contains(&now.exponent), "{}", told());
        assert!(!(now.diverged && was.diverged) || was.exponent == now.exponent, "{}", told());
        if now.diverged && random.below(4) == 0 {
            let again =
                ScaleState { diverged: false, bad_steps: 0, exponent: rule.init_exponent, ..now };
            scaler.set_state(again).expect("a host");
        }
    }
    let last = scaler.state().expect("a host");
    assert_eq!(last.updates, u64::from(steps), "{rule:?}");
    assert!(last.skipped > 0 && last.applied() > 0, "{rule:?}: nothing was tried");
}

/// Twenty thousand of them by default; all where `BINADE_FULL` is set.
#[test]
fn a_million_random_steps_of_every_preset_keep_the_scale_sound_and_skips_idle() {
    let steps = if std::env::var_os("BINADE_FULL").is_some() { 1_000_000 } else { 20_000 };
    for (seed, &(_, rule)) in (1..).zip(LossScale::PRESETS) {
        run(rule, Random(seed), steps);
    }
}
