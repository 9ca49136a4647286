//! The rule of torch with limits, and what each tolerance lets pass.

use super::*;

const GOOD: Seen = Seen { overflow: false, skipped: false, magnitude: 0.0 };
const SKIP: Seen = Seen { overflow: true, skipped: true, magnitude: 0.0 };
const DROPPED: Seen = Seen { overflow: true, skipped: false, magnitude: 0.0 };

fn run(rule: LossScale, seen: &[Seen]) -> ScaleState {
    seen.iter().fold(rule.start(), |state, &seen| rule.next(state, seen))
}

#[test]
fn torch_table_of_two_good_steps_and_an_overflow() {
    let rule = LossScale { init: 2, backoff: 2, ..LossScale::dynamic() };
    let rule = rule.with_growth_interval(2).unwrap();
    let exponents = |seen: &[Seen]| (run(rule, seen).exponent, run(rule, seen).good_steps);
    assert_eq!(exponents(&[GOOD]), (2, 1));
    assert_eq!(exponents(&[GOOD, GOOD]), (3, 0));
    assert_eq!(exponents(&[GOOD, GOOD, SKIP]), (1, 0));
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
fn divergence_stays_and_later_steps_are_counted() {
    let rule = LossScale::none().with_patience(1);
    let state = run(rule, &[SKIP, SKIP, SKIP]);
    assert!(state.diverged);
    assert_eq!((state.updates, state.skipped), (3, 3));
}

#[test]
fn a_dropped_micro_batch_backs_off_without_counting_as_a_skip() {
    let state = run(LossScale::dynamic(), &[DROPPED]);
    assert_eq!((state.exponent, state.overflows, state.skipped, state.bad_steps), (15, 1, 0, 0));
}

#[test]
fn a_fixed_scale_never_moves() {
    for seen in [GOOD, SKIP] {
        assert_eq!(run(LossScale::fixed(7), &[seen; 30]).exponent, 7);
    }
}

#[test]
fn rules_that_make_no_sense_are_refused_by_value() {
    let rule = LossScale::dynamic();
    let text = rule.with_init_scale(1000.0).unwrap_err().to_string();
    assert!(text.contains("1000") && text.contains("65536"), "{text}");
    assert!(rule.with_init_scale(f32::NAN).is_err());
    assert_eq!(rule.with_growth_interval(0), Err(LossScaleError::Interval));
    assert_eq!(rule.with_limits(3, 2), Err(LossScaleError::Limits { min: 3, max: 2 }));
    assert_eq!(rule.with_init_scale(2.0_f32.powi(30)).unwrap().max, 30);
}

/// Exponents after each update, from 2^16, with growth after two good steps.
fn exponents(tolerance: Tolerance, seen: &[Seen]) -> Vec<i32> {
    let rule = LossScale { growth_interval: 2, ..LossScale::torch() }.with_tolerance(tolerance);
    let steps = seen.iter().scan(rule.start(), |state, &seen| {
        *state = rule.next(*state, seen);
        Some(state.exponent)
    });
    steps.collect()
}

#[test]
fn apexs_hysteresis_tolerates_once_and_then_none_until_a_good_step() {
    let two = Tolerance::UntilGoodStep { overflows: 2 };
    let seen = [SKIP, SKIP, SKIP, GOOD, SKIP, SKIP];
    assert_eq!(exponents(two, &seen), [16, 15, 14, 14, 14, 13]);
}

#[test]
fn deepspeeds_hysteresis_is_refilled_by_growth_alone() {
    let two = Tolerance::UntilGrowth { overflows: 2 };
    let seen = [SKIP, GOOD, SKIP, SKIP, GOOD, GOOD, SKIP, SKIP];
    assert_eq!(exponents(two, &seen), [16, 16, 15, 14, 14, 15, 15, 14]);
}

#[test]
fn paddle_backs_off_at_every_nth_overflow_in_a_row() {
    let two = Tolerance::InARow { overflows: 2 };
    let seen = [SKIP, GOOD, SKIP, SKIP, SKIP, SKIP, SKIP];
    assert_eq!(exponents(two, &seen), [16, 16, 16, 15, 15, 14, 14]);
}

#[test]
fn fairseq_backs_off_where_too_large_a_share_of_updates_overflowed() {
    let half = Tolerance::share(0.5).unwrap();
    // One of four is tolerated; two of four, three of four are not, and each step down starts anew.
    let seen = [GOOD, DROPPED, GOOD, GOOD, SKIP, GOOD, SKIP];
    assert_eq!(exponents(half, &seen), [16, 15, 15, 16, 15, 15, 14]);
}

#[test]
fn a_tolerated_overflow_skips_and_counts_no_good_step_on() {
    let rule = LossScale { growth_interval: 2, ..LossScale::apex_hysteresis(3) };
    let state = run(rule, &[GOOD, SKIP, GOOD]);
    assert_eq!((state.exponent, state.good_steps, state.skipped), (16, 1, 1));
}

#[test]
fn a_tolerated_overflow_at_the_floor_is_no_divergence_and_the_next_one_is() {
    let rule = LossScale { init: 0, ..LossScale::deepspeed() };
    assert!(!run(rule, &[SKIP]).diverged);
    assert!(run(rule, &[SKIP, SKIP]).diverged);
}

#[test]
fn the_prediction_leaves_room_above_gradients_that_are_all_alike() {
    let rule = LossScale::open_seq2seq_log_max();
    let steady = Seen { magnitude: 2.0_f32.powi(-10), ..GOOD };
    // Without spread the scale puts 2^-10 at 2^16; a unit of rounding below that is the next binade down.
    let mut state = rule.start();
    for _ in 0..50 {
        let scaled = steady.magnitude * state.factor();
        state = rule.next(state, Seen { magnitude: scaled, ..steady });
        assert!((23..=24).contains(&state.exponent), "2^{}", state.exponent);
    }
}

#[test]
fn a_prediction_learns_nothing_from_gradients_that_are_all_zero() {
    let rule = LossScale::open_seq2seq_log_max();
    let learned = run(rule, &[Seen { magnitude: 0.5, ..GOOD }]);
    let state = rule.next(learned, GOOD);
    assert_eq!((state.averages, state.exponent), (learned.averages, learned.exponent));
    assert_eq!(rule.next(rule.start(), GOOD).exponent, 0);
}

#[test]
fn presets_are_found_by_name_and_a_wrong_name_lists_them() {
    for (name, rule) in LossScale::presets() {
        assert_eq!(LossScale::preset(name), Ok(rule), "{name}");
    }
    let text = LossScale::preset("pytorch").unwrap_err().to_string();
    assert!(text.contains("`pytorch`") && text.contains("torch, apex"), "{text}");
}

#[test]
fn a_share_beyond_all_updates_is_refused_by_value() {
    for share in [-0.1, 1.5, f64::NAN] {
        let text = Tolerance::share(share).unwrap_err().to_string();
        assert!(text.contains(&share.to_string()), "{text}");
    }
}
