//! Tests of constructors and names of rules, and of predictions against sums in f64. The kit and the recordings of libraries hold each branch of an
//! update.

use super::*;

const GOOD: UpdateInputs = UpdateInputs { overflow: false, skipped: false, magnitude: 0.0 };
const SKIP: UpdateInputs = UpdateInputs { overflow: true, skipped: true, magnitude: 0.0 };

fn predicting() -> LossScale {
    LossScale::preset("log-max").unwrap()
}

fn run(rule: LossScale, seen: &[UpdateInputs]) -> ScaleState {
    seen.iter().fold(rule.start(), |state, &seen| rule.next(state, seen))
}

#[test]
fn growth_fires_at_or_beyond_the_interval() {
    let slow = LossScale::dynamic();
    let state = run(slow, &[GOOD; 5]);
    let fast = slow.with_growth_interval(3).unwrap();
    assert_eq!(fast.next(state, GOOD).exponent, 17);
}

#[test]
fn the_ceiling_holds_and_the_counter_restarts() {
    let rule = LossScale::dynamic().with_growth_interval(1).unwrap();
    let state = run(rule, &[GOOD; 20]);
    assert_eq!((state.exponent, state.good_steps), (24, 0));
}

#[test]
fn an_overflow_at_the_floor_is_divergence() {
    let state = run(LossScale::dynamic(), &[SKIP; 16]);
    assert_eq!((state.exponent, state.diverged), (0, false));
    let state = run(LossScale::dynamic(), &[SKIP; 17]);
    assert_eq!((state.exponent, state.diverged, state.skipped), (0, true, 17));
}

#[test]
fn patience_ends_even_where_there_is_no_floor_to_reach() {
    let rule = LossScale::none().with_patience(3);
    assert!(!run(rule, &[SKIP, SKIP, GOOD, SKIP, SKIP]).diverged);
    assert!(run(rule, &[SKIP; 3]).diverged);
}

#[test]
fn rules_that_make_no_sense_are_refused_by_value() {
    let rule = LossScale::dynamic();
    let text = rule.with_init_scale(1000.0).unwrap_err().to_string();
    assert!(text.contains("1000") && text.contains("1024"), "{text}");
    assert!(rule.with_init_scale(f32::NAN).is_err());
    assert_eq!(rule.with_growth_interval(0), Err(LossScaleError::Interval));
    let limits = LossScaleError::Limits { min: 8.0, max: 4.0 };
    assert_eq!(rule.with_limits(8.0, 4.0), Err(limits));
    assert_eq!(rule.with_init_scale(2.0_f32.powi(30)).unwrap().max_exponent, 30);
    assert_eq!(rule.with_init_scale(0.25).unwrap().min_exponent, -2);
    let within = rule.with_limits(1.0 / 256.0, 1024.0).unwrap();
    assert_eq!((within.min_exponent, within.init_exponent, within.max_exponent), (-8, 10, 10));
    for share in [-0.1, 1.5, f64::NAN] {
        let text = Tolerance::share(share).unwrap_err().to_string();
        assert!(text.contains(&share.to_string()), "{text}");
    }
    let text = LossScale::preset("pytorch").unwrap_err().to_string();
    assert!(text.contains("`pytorch`") && text.contains("torch, apex"), "{text}");
}

#[test]
fn a_factor_out_of_reach_is_refused_by_value_wherever_one_is_taken() {
    let rule = LossScale::dynamic();
    for factor in [2.0_f32.powi(127), 3.0, 0.0, -2.0, f32::INFINITY, f32::NAN, 1e-45] {
        for given in [
            LossScale::fixed(factor),
            rule.with_init_scale(factor),
            rule.with_limits(factor, f32::INFINITY),
            rule.with_limits(1.0, factor),
        ] {
            let text = given.unwrap_err().to_string();
            assert!(text.contains(&format!("of {factor} is not a power of two")), "{text}");
        }
    }
}

#[test]
fn the_nearest_power_of_two_is_advised_and_an_import_only_of_what_can_be_imported() {
    let advised = |factor| LossScale::fixed(factor).unwrap_err().to_string();
    let near = [
        (1000.0, "take 1024 (2^10), or import it"),
        (1500.0, "take 1024 (2^10), or import it"),
        (3.0, "take 4 (2^2), or import it"),
        (0.3, "take 2^-2, or import it"),
        (1e-45, "take 2^-126, or import it"),
        (f32::MAX, "take 2^126, or import it"),
    ];
    for (factor, advice) in near {
        assert!(advised(factor).contains(advice), "{}", advised(factor));
    }
    for factor in [0.0, -1000.0, f32::NAN, f32::INFINITY] {
        assert!(advised(factor).ends_with("take 65536 (2^16)"), "{}", advised(factor));
    }
}

/// `OpenSeq2Seq`'s sums in f64: the exponent of its unrounded scale.
#[derive(Default)]
struct Published {
    mean: f64,
    slow_mean: f64,
    square: f64,
    seen: i32,
}

impl Published {
    fn after(&mut self, x: f64) -> f64 {
        self.seen += 1;
        self.mean = 0.99 * self.mean + 0.01 * x;
        self.slow_mean = 0.999 * self.slow_mean + 0.001 * x;
        self.square = 0.999 * self.square + 0.001 * x * x;
        let (fast, slow) = (1.0 - 0.99_f64.powi(self.seen), 1.0 - 0.999_f64.powi(self.seen));
        let variance = self.square / slow - (self.slow_mean / slow).powi(2);
        16.0 - (self.mean / fast + 3.09 * variance.max(0.0).sqrt())
    }
}

#[test]
fn the_prediction_is_that_of_f64_rounded_down() {
    let rule = LossScale { min_exponent: -126, max_exponent: 126, ..predicting() };
    // Around 2^-12, 2^0 and 2^12, with a spread of a binade and a half.
    for middle in [-12.0, 0.0, 12.0] {
        let (mut state, mut published) = (rule.start(), Published::default());
        let mut word = 1_u32;
        for number in 0..3000 {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let x = middle + 3.0 * (f64::from(word) / 2.0_f64.powi(32) - 0.5);
            #[expect(clippy::cast_possible_truncation, reason = "a gradient of f32")]
            let magnitude = x.exp2() as f32;
            let wanted = published.after(f64::from(magnitude).log2());
            state =
                rule.next(state, UpdateInputs { magnitude: magnitude * state.factor(), ..GOOD });
            let near = [wanted - 0.05, wanted + 0.05].map(f64::floor);
            assert!(near.contains(&state.exponent.into()), "{number}: {state:?} for {wanted}");
        }
    }
}

#[test]
fn a_prediction_learns_nothing_from_gradients_that_are_all_zero() {
    let rule = predicting();
    let learned = run(rule, &[UpdateInputs { magnitude: 0.5, ..GOOD }]);
    let state = rule.next(learned, GOOD);
    assert_eq!((state.averages, state.exponent), (learned.averages, learned.exponent));
    assert_eq!(rule.next(rule.start(), GOOD).exponent, 0);
}

#[test]
fn an_overflow_lowers_a_prediction_by_as_much_as_its_weight() {
    let rule = LossScale { max_exponent: 126, ..predicting() };
    let steady = |state: ScaleState| UpdateInputs { magnitude: state.factor(), ..GOOD };
    let settled = (0..500).fold(rule.start(), |state, _| rule.next(state, steady(state)));
    assert!((15..=16).contains(&settled.exponent), "{settled:?}");
    let after = rule.next(settled, SKIP);
    assert!((8..settled.exponent).contains(&after.exponent), "{after:?}");
}

#[test]
fn a_share_that_is_met_exactly_backs_off_though_it_is_no_65536th() {
    for every in [3_u16, 5, 7, 10, 20, 100] {
        let rule = LossScale::preset("fairseq")
            .unwrap()
            .with_tolerance(Tolerance::share(1.0 / f64::from(every)).unwrap());
        let mut seen = vec![GOOD; usize::from(every - 1)];
        seen.push(SKIP);
        assert_eq!(run(rule, &seen).exponent, 14, "1 of {every}");
        seen.insert(0, GOOD);
        assert_eq!(run(rule, &seen).exponent, 15, "1 of {} is less", every + 1);
    }
}

/// TensorFlow 1's `ExponentialUpdateLossScaleManager`, by halves: no recording has it. Under overflows from rare to always.
#[test]
fn tensorflows_accumulated_overflows_move_as_its_manager_does() {
    for (seed, share) in [1, 3, 8, 10, 12, 15, 30, 60, 100].into_iter().enumerate() {
        for decr_every in [1, 2, 3, 10] {
            let tolerance = Tolerance::SinceMove { overflows: decr_every };
            let rule = LossScale::torch().with_limits(1.0, 2.0_f32.powi(126)).unwrap();
            let rule = LossScale { growth_interval: 7, patience: u32::MAX, tolerance, ..rule };
            let (mut state, mut word, mut scale) = (rule.start(), seed, 65536.0);
            let (mut good, mut bad) = (0, 0);
            for number in 0..2000 {
                word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) % (1 << 32);
                let overflow = (word >> 16) % 100 < share;
                (good, bad) = if overflow { (0, bad + 1) } else { (good + 1, bad) };
                // The library stays at its floor, and Binade diverges there.
                let raises = bad >= decr_every && scale <= 1.0;
                if bad >= decr_every {
                    (scale, bad) = (scale * 0.5, 0);
                } else if good >= 7 {
                    (scale, good, bad) = (scale * 2.0, 0, 0);
                }
                state = rule.next(state, if overflow { SKIP } else { GOOD });
                assert_eq!(state.diverged, raises, "{number} of {rule:?}: {state:?}");
                if raises || scale > 1e37 {
                    break;
                }
                assert_eq!(state.factor(), scale, "{number} of {rule:?}: {state:?}");
            }
        }
    }
}

/// First exponent, good steps between growths, overflows until the scale moves, floor and ceiling.
#[test]
fn presets_keep_to_the_numbers_of_their_libraries() {
    let numbers = |name: &str| {
        let rule = LossScale::preset(name).unwrap();
        let moves = (1..9).find(|&n| run(rule, &vec![SKIP; n]).exponent < rule.init_exponent);
        (rule.init_exponent, rule.growth_interval, moves, rule.min_exponent, rule.max_exponent)
    };
    for (name, wanted) in [
        ("torch", (16, 2000, Some(1), -126, 126)),
        ("apex", (16, 2000, Some(1), -126, 24)),
        ("apex-hysteresis", (16, 2000, Some(2), -126, 126)),
        ("deepspeed", (16, 1000, Some(2), 0, 126)),
        ("keras", (15, 2000, Some(1), -126, 126)),
        ("jmp", (15, 2000, Some(1), 0, 126)),
        ("paddle", (16, 2000, Some(1), -126, 126)),
        ("fairseq", (15, 2000, Some(1), -13, 126)),
    ] {
        assert_eq!(numbers(name), wanted, "{name}");
        let rule = LossScale::preset(name).unwrap();
        assert_eq!((rule.growth_exponent, rule.backoff_exponent), (1, 1), "{name}");
        let good = run(rule, &vec![GOOD; rule.growth_interval as usize]);
        assert_eq!(good.exponent, rule.init_exponent + 1, "{name}");
    }
}

#[test]
fn every_preset_ends_in_divergence_and_at_no_lower_scale() {
    for &(name, rule) in LossScale::PRESETS {
        let state = run(rule, &[SKIP; 200]);
        assert!(state.diverged && state.exponent >= rule.min_exponent, "{name}: {state:?}");
        let once = run(rule, &[SKIP; 2]);
        assert!(!once.diverged || rule.log_max.is_some(), "{name}: {once:?}");
    }
}

#[test]
fn a_rule_is_fixed_where_nothing_moves_the_scale() {
    for (factor, exponent) in [(1.0, 0), (128.0, 7), (2.0_f32.powi(126), 126), (0.25, -2)] {
        let rule = LossScale::fixed(factor).unwrap();
        assert!(rule.is_fixed() && rule.start().factor() == factor, "{factor}");
        let limits = (rule.min_exponent, rule.init_exponent, rule.max_exponent);
        assert_eq!(limits, (exponent, exponent, exponent), "{factor}");
    }
    let up = LossScale { growth_exponent: 1, ..LossScale::none() };
    let down = LossScale { backoff_exponent: 1, ..LossScale::none() };
    for rule in [LossScale::dynamic(), up, down, predicting()] {
        assert!(!rule.is_fixed(), "{rule:?}");
    }
}

#[test]
fn a_prediction_that_learns_no_deviation_leaves_the_scale() {
    for (weight, slow_weight) in [(0, 16_777), (167_772, 0)] {
        let log_max = LogMax { weight, slow_weight, ..LogMax::open_seq2seq() };
        let rule = LossScale { log_max: Some(log_max), ..predicting() };
        assert_eq!(
            run(rule, &[UpdateInputs { magnitude: 0.5, ..GOOD }; 9]).exponent,
            0,
            "{log_max:?}"
        );
    }
}

/// Worked out by hand from the rule in [`LogMax`]'s documentation.
#[test]
fn averages_have_the_bits_that_their_documentation_says() {
    let rule = predicting();
    let logs = [-10, -4, 3];
    let last = logs.into_iter().fold(rule.start(), |state, log| {
        rule.next(state, UpdateInputs { magnitude: 2.0_f32.powi(log) * state.factor(), ..GOOD })
    });
    let (mean, slow_mean, square) = (-28_886_312, -2_946_313, 130_844);
    let expected = Averages { mean, slow_mean, square, taken: 498_299, slow_taken: 50_280 };
    assert_eq!(last.averages, expected);
}
