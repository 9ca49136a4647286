//! A recorded run that another follows: the same scales, the same skips, or word of where they parted.

use crate::common::sgd::{Bits, Sgd};
use crate::common::{HostScaler, Result, f32s, finish, iterate, scaler, times, unscaled, window};
use binade_core::{Error, ErrorKind, OrderError};
use binade_grad_scaler::{
    BadMicroBatch, DivergenceKind, LossScale, ReplayDivergence, ReplayScales, Step, StepReport,
    Trajectory,
};

const BAD: f32 = f32::INFINITY;
const RECORDED: [f32; 6] = [1.0, BAD, 2.0, f32::NAN, BAD, 0.5];

fn rule() -> LossScale {
    LossScale::dynamic().with_growth_interval(2).unwrap()
}

/// Run of its own: its recording, its reports and its weights.
fn recorded(rule: LossScale, batches: &[f32]) -> (Trajectory, Vec<StepReport>, Bits) {
    let (mut scaler, mut sgd) = (scaler(rule), Sgd::new(&[("w", &[1.0])]));
    let (mut trajectory, mut reports) = (Trajectory::new(scaler.state().unwrap()), Vec::new());
    for &x in batches {
        let step = iterate(&mut scaler, &mut sgd, &[("w", &[x])]).unwrap();
        trajectory.record(&step).unwrap();
        reports.push(step.report().clone());
    }
    (trajectory, reports, sgd.bits())
}

/// Recording of the steps that `step` takes, on a scaler of its own.
fn recording(
    count: usize,
    mut step: impl FnMut(&mut HostScaler) -> Result<Step>,
) -> Result<Trajectory> {
    let mut scaler = scaler(rule());
    let mut trajectory = Trajectory::new(scaler.state()?);
    for _ in 0..count {
        trajectory.record(&step(&mut scaler)?).unwrap();
    }
    Ok(trajectory)
}

/// A run that follows: what each check said, and its weights.
fn followed(
    trajectory: &Trajectory,
    rule: LossScale,
    batches: &[f32],
) -> (Vec<std::result::Result<Step, ReplayDivergence>>, Bits) {
    let (mut scaler, mut sgd) = (scaler(rule), Sgd::new(&[("w", &[1.0])]));
    let mut follow = ReplayScales::new(trajectory.clone());
    let checked = batches.iter().map(|&x| {
        follow.begin_step(&mut scaler).unwrap();
        follow.check(iterate(&mut scaler, &mut sgd, &[("w", &[x])]).unwrap())
    });
    let checked = checked.collect();
    (checked, sgd.bits())
}

#[test]
fn a_run_that_never_overflows_skips_where_the_recording_did_under_its_scales() {
    let (trajectory, reports, weights) = recorded(rule(), &RECORDED);
    let fine = [1.0, 7.0, 2.0, 7.0, 7.0, 0.5];
    let (checked, own) = followed(&trajectory, LossScale::dynamic(), &fine);
    for (checked, report) in checked.iter().zip(reports) {
        let step = checked.as_ref().unwrap();
        assert_eq!(step.is_applied(), !report.steps[0].skipped);
        assert_eq!(step.report().scale, report.scale);
    }
    assert_eq!(own, weights, "as the recorded run, to the bit");
    let text = checked[1].as_ref().unwrap().report().to_string();
    assert!(text.starts_with("step 2 skipped; halted, as its scale was set to"), "{text}");
}

#[test]
fn losses_are_scaled_as_they_were_in_the_recording() -> Result {
    let (trajectory, reports, _) = recorded(rule(), &RECORDED);
    let mut scaler = scaler(LossScale::none());
    let mut follow = ReplayScales::new(trajectory);
    let mut before = rule().start();
    for report in reports {
        assert!(follow.begin_step(&mut scaler)?);
        let _ = scaler.scale(&f32s(&[1.0]))?.backward(|scaled| {
            assert_eq!(scaled.to_f32(), [before.factor()]);
            Ok(Vec::new())
        })?;
        before = report.scale;
    }
    Ok(())
}

#[test]
fn an_overflow_of_this_run_alone_is_never_applied_and_is_told() {
    let (trajectory, reports, _) = recorded(rule(), &RECORDED);
    let mut batches = RECORDED;
    batches[2] = f32::NAN;
    let (checked, own) = followed(&trajectory, rule(), &batches);
    let parted = checked[2].as_ref().unwrap_err();
    assert_eq!((&parted.kind, parted.kind()), (&DivergenceKind::Skipped, ErrorKind::Mismatch));
    let text = parted.to_string();
    let words = "was applied there, and is skipped here. This run: step 3 skipped; w[0] is NaN";
    assert!(text.contains(words), "{text}");
    assert_eq!(parted.step.report().scale, reports[2].scale, "as recorded");
    assert!(checked[3..].iter().all(std::result::Result::is_ok), "and it goes on");
    assert_eq!(own.2, 2, "of three applied in the recording");
    assert!(f32::from_bits(own.0[0][0]).is_finite());
}

#[test]
fn a_step_that_nobody_led_is_told() -> Result {
    let (trajectory, _, _) = recorded(rule(), &[BAD]);
    let (mut scaler, mut sgd) = (scaler(rule()), Sgd::new(&[("w", &[1.0])]));
    let parted =
        ReplayScales::new(trajectory).check(iterate(&mut scaler, &mut sgd, &[("w", &[1.0])])?);
    let parted = parted.expect_err("it was skipped there");
    assert_eq!(parted.kind, DivergenceKind::Applied);
    assert!(parted.to_string().contains("call `begin_step`"), "{parted}");
    Ok(())
}

#[test]
fn outcomes_may_be_checked_late() -> Result {
    let (trajectory, _, weights) = recorded(rule(), &RECORDED);
    let (mut scaler, mut sgd) = (scaler(rule()), Sgd::new(&[("w", &[1.0])]));
    let (mut follow, mut late) = (ReplayScales::new(trajectory), None);
    for x in [1.0, 7.0, 2.0, 7.0, 7.0, 0.5] {
        follow.begin_step(&mut scaler)?;
        let step = unscaled(&scaler, &[("w", &[x])])?.step(&mut sgd)?;
        if let Some(before) = late.replace(scaler.update(step)?) {
            drop(follow.check(before.resolve()?).unwrap());
        }
    }
    drop(follow.check(late.expect("the last").resolve()?).unwrap());
    assert_eq!(sgd.bits(), weights);
    Ok(())
}

/// One iteration of two optimizers.
fn pair(scaler: &mut HostScaler, d: f32, g: f32) -> Result<(Step, [u32; 2])> {
    let mut sgds = [Sgd::new(&[("w", &[1.0])]), Sgd::new(&[("w", &[1.0])])];
    let mut steps = Vec::new();
    for ((name, x), sgd) in [("d", d), ("g", g)].into_iter().zip(&mut sgds) {
        steps.push(unscaled(scaler, &[("w", &[x])])?.named(name).step(sgd)?);
    }
    let step = steps.into_iter().reduce(binade_grad_scaler::PendingStep::and).expect("two");
    Ok((scaler.update(step)?.resolve()?, sgds.map(|sgd| sgd.steps)))
}

#[test]
fn led_together_they_are_all_halted_which_is_told() -> Result {
    let trajectory = recording(1, |scaler| Ok(pair(scaler, 1.0, BAD)?.0))?;
    let (mut second, mut follow) = (scaler(rule()), ReplayScales::new(trajectory));
    follow.begin_step(&mut second)?;
    let (step, steps) = pair(&mut second, 1.0, 1.0)?;
    let parted = follow.check(step).unwrap_err();
    assert_eq!(
        (steps, parted.optimizer.as_str(), parted.kind),
        ([0, 0], "d", DivergenceKind::Skipped)
    );
    Ok(())
}

#[test]
fn other_optimizers_than_the_recordings_are_told() -> Result {
    let trajectory = recording(1, |scaler| Ok(pair(scaler, 1.0, 1.0)?.0))?;
    let (mut second, mut sgd) = (scaler(rule()), Sgd::new(&[("w", &[1.0])]));
    let mut follow = ReplayScales::new(trajectory);
    follow.begin_step(&mut second)?;
    let parted = follow.check(iterate(&mut second, &mut sgd, &[("w", &[1.0])])?).unwrap_err();
    assert_eq!(parted.kind, DivergenceKind::Optimizers(vec!["d".into(), "g".into()]));
    Ok(())
}

/// A window that leaves bad micro-batches out.
fn dropping(scaler: &mut HostScaler, batches: &[f32]) -> Result<Step> {
    let sum = window(scaler, BadMicroBatch::Drop, batches)?;
    finish(sum, scaler, &mut Sgd::new(&[("w", &[1.0])]))
}

#[test]
fn a_window_that_leaves_out_other_micro_batches_is_told() -> Result {
    let other = "the step left out micro-batch 1 there. This";
    for (there, here, words) in [
        ([1.0, BAD, 2.0], [1.0, BAD, 2.0], None),
        ([1.0, BAD, 2.0], [1.0, 2.0, BAD], Some(other)),
        ([1.0, BAD, 2.0], [1.0; 3], Some(other)),
        ([1.0; 3], [1.0, BAD, 2.0], Some("left out nothing there. This run: step 1 applied")),
    ] {
        let trajectory = recording(1, |scaler| dropping(scaler, &there))?;
        let (mut second, mut follow) = (scaler(rule()), ReplayScales::new(trajectory));
        follow.begin_step(&mut second)?;
        let told = follow.check(dropping(&mut second, &here)?).err();
        assert_eq!(told.is_some(), words.is_some(), "{here:?}");
        let Some((parted, words)) = told.zip(words) else { continue };
        assert!(matches!(parted.kind, DivergenceKind::LeftOut(_)), "{parted:?}");
        assert!(parted.to_string().contains(words), "{parted}");
    }
    Ok(())
}

#[test]
fn windows_of_either_kind_are_halted_whole_where_the_recording_skipped() -> Result {
    let trajectory = recording(2, |scaler| dropping(scaler, &[BAD, f32::NAN]))?;
    let (mut second, mut sgd) = (scaler(rule()), Sgd::new(&[("w", &[1.0])]));
    let mut follow = ReplayScales::new(trajectory);
    follow.begin_step(&mut second)?;
    assert!(!follow.check(dropping(&mut second, &[1.0, 2.0])?).unwrap().is_applied());
    follow.begin_step(&mut second)?;
    let mut sum = second.sum_scaled();
    sum.backward(&f32s(&[1.0]), |factor| Ok(times(&[("w", &[1.0])], factor)))?;
    let step = sum.unscale()?.expect("a pass").step(&mut sgd)?;
    assert!(!follow.check(second.update(step)?.resolve()?).unwrap().is_applied());
    assert_eq!(sgd.steps, 0);
    Ok(())
}

#[test]
fn outcomes_out_of_order_or_of_another_run_are_not_recorded() -> Result {
    let (mut scaler, mut sgd) = (scaler(rule()), Sgd::new(&[("w", &[1.0])]));
    let mut trajectory = Trajectory::new(scaler.state()?);
    let mut next = || iterate(&mut scaler, &mut sgd, &[("w", &[1.0])]);
    let (first, second) = (next()?, next()?);
    assert_eq!(trajectory.record(&second), Err(OrderError::OutOfOrder { last: 0, got: 2 }));
    trajectory.record(&first).unwrap();
    assert_eq!(trajectory.record(&first), Err(OrderError::OutOfOrder { last: 1, got: 1 }));
    assert_eq!(trajectory.record(&first).unwrap_err().kind(), ErrorKind::Mismatch);
    trajectory.record(&second).unwrap();
    Ok(())
}

#[test]
fn a_recording_that_starts_in_the_middle_of_a_run_is_followed_from_there() -> Result {
    let (mut first, mut sgd) = (scaler(rule()), Sgd::new(&[("w", &[1.0])]));
    drop(iterate(&mut first, &mut sgd, &[("w", &[BAD])])?);
    let mut trajectory = Trajectory::new(first.state()?);
    trajectory.record(&iterate(&mut first, &mut sgd, &[("w", &[BAD])])?).unwrap();
    let (checked, _) = followed(&trajectory, rule(), &[1.0]);
    let scale = checked[0].as_ref().unwrap().report().scale;
    assert_eq!((scale.exponent, scale.updates, scale.skipped), (14, 2, 2));
    Ok(())
}

#[cfg(feature = "serde")]
#[test]
fn a_recording_comes_back_and_a_run_goes_on_in_its_middle() -> Result {
    let (trajectory, _, weights) = recorded(rule(), &RECORDED);
    let written = serde_json::to_string(&trajectory).unwrap();
    let trajectory: Trajectory = serde_json::from_str(&written).unwrap();
    let (mut scaler, mut sgd) = (scaler(rule()), Sgd::new(&[("w", &[1.0])]));
    let mut follow = ReplayScales::new(trajectory);
    for x in [1.0, 7.0, 2.0, 7.0, 7.0, 0.5] {
        let saved = serde_json::to_string(&follow).unwrap();
        follow = serde_json::from_str(&saved).unwrap();
        follow.begin_step(&mut scaler)?;
        drop(follow.check(iterate(&mut scaler, &mut sgd, &[("w", &[x])])?).unwrap());
    }
    assert_eq!(sgd.bits(), weights);
    Ok(())
}
