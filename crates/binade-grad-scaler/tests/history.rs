//! What a run adds up to: each optimizer by name, the parameter that overflows most, the range of the scale.
mod common;

use binade_grad_scaler::{
    BadMicroBatch, History, LossScale, Norm, ScaleState, StepCounts, UnscaledGrads,
};
use common::sgd::Sgd;
use common::{HostScaler, Result, iterate, scaler, unscaled};
use proptest::prelude::*;

const BAD: f32 = f32::INFINITY;

/// Two optimizers' steps of one iteration.
fn both(scaler: &mut HostScaler, history: &mut History, d: f32, g: f32) -> Result {
    let mut sgd = Sgd::new(&[]);
    let d = unscaled(scaler, &[("d.w", &[d])])?.named("discriminator").step(&mut sgd)?;
    let g = unscaled(scaler, &[("g.a", &[1.0]), ("g.b", &[g])])?.named("generator");
    let step = d.and(g.step(&mut sgd)?);
    history.record(&scaler.update(step)?.resolve()?);
    Ok(())
}

#[test]
fn optimizers_are_counted_apart_with_their_skips_in_a_row() -> Result {
    let (mut scaler, mut history) = (scaler(LossScale::dynamic()), History::new());
    for (d, g) in [(1.0, BAD), (1.0, BAD), (BAD, 1.0), (1.0, BAD)] {
        both(&mut scaler, &mut history, d, g)?;
    }
    let counts =
        |applied, skipped, in_a_row, longest| StepCounts { applied, skipped, in_a_row, longest };
    assert_eq!(history.of("discriminator"), counts(3, 1, 0, 1));
    assert_eq!(history.of("generator"), counts(1, 3, 1, 2));
    assert_eq!(history.of("critic"), StepCounts::default());
    assert_eq!(history.optimizers().count(), 2);
    assert_eq!(history.worst(), Some(("g.b", 3)));
    assert_eq!(history.overflows().collect::<Vec<_>>(), [("d.w", 1), ("g.b", 3)]);
    assert_eq!(history.scales(), Some((4096.0, 65536.0)));
    assert_eq!(
        history.to_string(),
        "discriminator: 3 applied, 1 skipped (at most 1 in a row, 0 now); \
         generator: 1 applied, 3 skipped (at most 2 in a row, 1 now); \
         scale 4096 to 65536; overflowed most often: g.b, 3 times"
    );
    Ok(())
}

#[test]
fn of_parameters_that_overflowed_as_often_the_first_by_name_is_the_worst() -> Result {
    let (mut scaler, mut history) = (scaler(LossScale::dynamic()), History::new());
    both(&mut scaler, &mut history, BAD, 1.0)?;
    both(&mut scaler, &mut history, 1.0, BAD)?;
    assert_eq!(history.worst(), Some(("d.w", 1)));
    Ok(())
}

#[test]
fn a_large_scale_that_is_no_power_of_two_is_told_as_a_number() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::torch()), Sgd::new(&[("w", &[1.0])]));
    let mut history = History::new();
    scaler.set_state(ScaleState::import(3e30).expect("in reach"))?;
    history.record(&iterate(&mut scaler, &mut sgd, &[("w", &[1.0])])?);
    assert_eq!(history.to_string(), "1 applied, 0 skipped; scale 3e30 to 3e30");
    Ok(())
}

#[test]
fn a_run_without_names_and_skips_is_one_short_line() -> Result {
    let (mut scaler, mut sgd) =
        (scaler(LossScale::fixed(2.0_f32.powi(40)).expect("in reach")), Sgd::new(&[("w", &[1.0])]));
    let mut history = History::new();
    assert_eq!((history.to_string().as_str(), history.worst()), ("no steps yet", None));
    history.record(&iterate(&mut scaler, &mut sgd, &[("w", &[1.0])])?);
    assert_eq!(history.to_string(), "1 applied, 0 skipped; scale 2^40 to 2^40");
    Ok(())
}

#[test]
fn every_bad_micro_batch_counts_though_the_step_was_applied() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[("w", &[0.0])]));
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    for x in [BAD, 1.0, f32::NAN] {
        window.add(unscaled(&scaler, &[("w", &[x])])?)?;
    }
    let step = window.finish()?.expect("three").step(&mut sgd)?;
    let mut history = History::new();
    history.record(&scaler.update(step)?.resolve()?);
    assert_eq!((history.of("").applied, history.worst()), (1, Some(("w", 2))));
    Ok(())
}

#[test]
fn what_is_skipped_together_overflowed_once_and_a_norm_goes_by_its_name() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::none()), Sgd::new(&[]));
    let mut history = History::new();
    for large in [BAD, 3e38] {
        let a = unscaled(&scaler, &[("a", &[large, large])])?.clip_norm(1.0)?;
        let [a, b] = UnscaledGrads::skip_together([a, unscaled(&scaler, &[("b", &[1.0])])?])?;
        let step = a.step(&mut sgd)?.and(b.step(&mut sgd)?);
        history.record(&scaler.update(step)?.resolve()?);
    }
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    window.add(unscaled(&scaler, &[("a", &[3e38, 3e38])])?)?;
    let step = window.finish()?.expect("one").clip_norm(1.0)?.step(&mut sgd)?;
    history.record(&scaler.update(step)?.resolve()?);
    assert_eq!(history.overflows().collect::<Vec<_>>(), [("a", 1), (Norm::NAME, 2)]);
    assert_eq!(history.of("").skipped, 5);
    Ok(())
}

#[cfg(feature = "serde")]
#[test]
fn a_history_comes_back_and_goes_on() -> Result {
    let (mut scaler, mut history) = (scaler(LossScale::dynamic()), History::new());
    both(&mut scaler, &mut history, 1.0, BAD)?;
    let written = serde_json::to_string(&history).unwrap();
    let mut back: History = serde_json::from_str(&written).unwrap();
    assert_eq!(back, history);
    both(&mut scaler, &mut back, 1.0, BAD)?;
    assert_eq!(back.of("generator").longest, 2);
    Ok(())
}

proptest! {
    /// What the device counts of all optimizers, the history has of one.
    #[test]
    fn the_history_of_one_optimizer_agrees_with_the_devices_counters(
        batches in prop::collection::vec(any::<bool>(), 1..60),
    ) {
        let rule = LossScale::dynamic().with_growth_interval(3).unwrap();
        let (mut scaler, mut sgd) = (scaler(rule), Sgd::new(&[("w", &[1.0])]));
        let (mut history, mut scales) = (History::new(), vec![65536.0]);
        for &bad in &batches {
            let x = if bad { f32::NAN } else { 1.0 };
            history.record(&iterate(&mut scaler, &mut sgd, &[("w", &[x])]).unwrap());
            scales.push(scaler.state().unwrap().factor());
        }
        let (state, counts) = (scaler.state().unwrap(), history.of(""));
        prop_assert_eq!((counts.applied, counts.skipped), (state.applied(), state.skipped));
        prop_assert_eq!(counts.in_a_row, u64::from(state.bad_steps));
        prop_assert_eq!(counts.applied, u64::from(sgd.steps));
        prop_assert!(counts.longest >= counts.in_a_row && counts.longest <= counts.skipped);
        let worst = history.worst().map_or(0, |(_, times)| times);
        prop_assert_eq!(worst, batches.iter().filter(|bad| **bad).count() as u64);
        let least = scales.iter().copied().fold(f32::INFINITY, f32::min);
        let most = scales.iter().copied().fold(0.0, f32::max);
        prop_assert_eq!(history.scales(), Some((least, most)));
    }
}
