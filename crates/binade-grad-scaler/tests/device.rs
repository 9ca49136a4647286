//! The loop on a pretend GPU: nothing is read back, and nothing copied, until somebody asks.

use crate::common::gpu::{Buffer, Gpu, GpuError, GpuGrads, GpuSgd, Result};
use crate::common::train_step;
use binade_core::{Error as _, ErrorKind, FoundInf, Named};
use binade_grad_scaler::{
    BadMicroBatch, ClipGroup, GradOps, GradScaler, LossScale, Norm, SavedWindow, ScaleState,
    ScaleStore, Scaler, Step,
};

fn start(rule: LossScale) -> Result<(Gpu, GpuSgd, Scaler<Gpu>)> {
    let gpu = Gpu::default();
    Ok((gpu.clone(), GpuSgd::new(&gpu), Scaler::new(gpu, rule)?))
}

fn loss() -> Buffer<Vec<f32>> {
    Buffer::upload(vec![1.0])
}

fn grads(x: f32) -> impl Fn(&Buffer<Vec<f32>>) -> Result<GpuGrads> {
    move |_| Ok(vec![Named::new("w", Some(Buffer::upload(vec![x])))])
}

#[test]
fn a_hundred_steps_with_skips_read_nothing_and_copy_nothing() -> Result {
    let (gpu, mut sgd, mut scaler) = start(LossScale::dynamic())?;
    let addresses = (sgd.param.address(), sgd.steps.address());
    for i in 0..100 {
        let x = if i % 10 == 9 { f32::INFINITY } else { 65536.0 };
        train_step(&mut scaler, &mut sgd, &loss(), grads(x))?.ignore();
    }
    assert_eq!((gpu.reads(), gpu.copies()), (0, 0));
    assert_eq!((sgd.param.address(), sgd.steps.address()), addresses, "a graph can replay it");
    assert_eq!(gpu.scale_addresses(), 1, "the scale is updated in place");

    let outcome = train_step(&mut scaler, &mut sgd, &loss(), grads(f32::NAN))?;
    assert_eq!(gpu.reads(), 0);
    let step = outcome.resolve()?;
    assert_eq!(gpu.reads(), 1);
    let Step::Skipped(report) = step else { panic!("{step:?}") };
    assert_eq!(*report.overflow().expect("one").parameter, *"w");
    let scale = report.scale;
    assert_eq!((scale.updates, scale.skipped, scale.exponent), (101, 11, 5));
    assert_eq!(gpu.download(&sgd.steps), 90);
    Ok(())
}

#[test]
fn an_outcome_may_be_resolved_one_step_late() -> Result {
    let (gpu, mut sgd, mut scaler) = start(LossScale::dynamic())?;
    let late = train_step(&mut scaler, &mut sgd, &loss(), grads(f32::NAN))?;
    let next = train_step(&mut scaler, &mut sgd, &loss(), grads(1.0))?;
    assert_eq!(gpu.copies(), 1, "the late outcome keeps its own scale");
    let step = late.resolve()?;
    let Step::Skipped(report) = step else { panic!("{step:?}") };
    let scale = report.scale;
    assert_eq!((scale.before, scale.exponent, scale.updates), (16, 15, 1));
    let next = next.resolve()?;
    assert!(next.is_applied());
    assert_eq!((next.report().scale.exponent, next.report().scale.updates), (15, 2));
    Ok(())
}

#[test]
fn gradients_are_unscaled_by_their_own_scale_when_an_update_comes_between() -> Result {
    let (_, mut sgd, mut scaler) = start(LossScale::dynamic())?;
    let early = scaler
        .scale(&loss())?
        .backward(|factor| Ok(vec![Named::new("w", Some(factor.clone()))]))?;
    train_step(&mut scaler, &mut sgd, &loss(), grads(f32::INFINITY))?.ignore();
    let step = early.unscale()?.step(&mut sgd)?;
    let now = scaler.scale(&loss())?.backward(grads(0.0))?.unscale()?.step(&mut sgd)?;
    let outcome = scaler.update(step.and(now))?.resolve()?;
    assert_eq!(outcome.report().steps[0].parts[0].finding.magnitude, 65536.0);
    assert_eq!(scaler.device().download(&sgd.param), [100.0 - 0.1]);
    Ok(())
}

#[test]
fn a_poll_gives_the_outcome_back_until_the_device_is_done() -> Result {
    let (gpu, mut sgd, mut scaler) = start(LossScale::dynamic())?;
    gpu.set_busy(true);
    let outcome = train_step(&mut scaler, &mut sgd, &loss(), grads(f32::NAN))?;
    let outcome = outcome.try_resolve()?.expect_err("busy");
    assert_eq!(gpu.reads(), 0);
    gpu.set_busy(false);
    assert!(!outcome.try_resolve()?.expect("done").is_applied());
    assert_eq!(gpu.reads(), 1);
    Ok(())
}

#[test]
fn a_window_drops_a_bad_micro_batch_without_a_read() -> Result {
    let (gpu, mut sgd, mut scaler) = start(LossScale::none())?;
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    for x in [10.0, f32::INFINITY, 20.0] {
        window.add(scaler.scale(&loss())?.backward(grads(x))?.unscale()?)?;
    }
    let step = window.finish()?.expect("three").step(&mut sgd)?;
    let outcome = scaler.update(step)?;
    assert_eq!(gpu.reads(), 0);
    let step = outcome.resolve()?;
    assert!(step.is_applied());
    assert!(step.report().to_string().contains("micro-batch 1: w[0] is +inf"), "{}", step.report());
    assert_eq!(step.report().scale.overflows, 1);
    assert_eq!(gpu.download(&sgd.param), [97.0]);
    Ok(())
}

#[test]
fn a_norm_too_large_for_f32_skips_instead_of_stepping_by_zero() -> Result {
    let (gpu, mut sgd, mut scaler) = start(LossScale::none())?;
    let huge = |_: &_| Ok(vec![Named::new("w", Some(Buffer::upload(vec![3e38, 3e38])))]);
    let step = train_step(&mut scaler, &mut sgd, &loss(), huge)?.resolve()?;
    let Step::Skipped(report) = step else { panic!("{step:?}") };
    assert_eq!(*report.overflow().expect("one").parameter, *"norm of all gradients");
    assert_eq!(gpu.download(&sgd.steps), 0);
    Ok(())
}

#[test]
fn divergence_latches_on_the_device_until_a_state_is_set() -> Result {
    let (gpu, mut sgd, mut scaler) = start(LossScale::dynamic().with_patience(3))?;
    for x in [f32::NAN, f32::NAN, f32::NAN, 1.0, 1.0] {
        train_step(&mut scaler, &mut sgd, &loss(), grads(x))?.ignore();
    }
    let last = train_step(&mut scaler, &mut sgd, &loss(), grads(1.0))?;
    assert_eq!((gpu.reads(), gpu.copies()), (0, 0));

    let step = last.resolve()?;
    let Step::Diverged(report) = step else { panic!("{step:?}") };
    assert!(report.steps[0].skipped && report.steps[0].parts[0].finding.halted);
    assert_eq!((report.scale.updates, report.scale.skipped), (6, 6));
    assert_eq!(gpu.download(&sgd.param), [100.0]);

    scaler.set_state(ScaleState::from_exponent(4))?;
    let step = train_step(&mut scaler, &mut sgd, &loss(), grads(1.0))?.resolve()?;
    assert!(step.is_applied(), "{}", step.report());
    assert_eq!((step.report().scale.exponent, step.report().scale.updates), (4, 1));
    assert_eq!(gpu.download(&sgd.steps), 1);
    Ok(())
}

#[test]
fn a_rule_of_ones_own_resolves_and_sets_the_state() -> Result {
    let (_, mut sgd, mut scaler) = start(LossScale::dynamic())?;
    let step = train_step(&mut scaler, &mut sgd, &loss(), grads(f32::INFINITY))?.resolve()?;
    let state = step.report().scale;
    scaler.set_state(ScaleState { exponent: state.exponent - 3, ..state })?;
    let step = train_step(&mut scaler, &mut sgd, &loss(), grads(1.0))?.resolve()?;
    assert_eq!((step.report().scale.exponent, step.report().scale.updates), (12, 2));
    Ok(())
}

/// The pretend GPU leaves out what a device may.
fn unsupported<E: Into<Box<dyn std::error::Error + Send + Sync>>>(error: E, method: &str) {
    let error = error.into().to_string();
    let expected =
        format!("`{}` does not implement the optional `{method}`", std::any::type_name::<Gpu>());
    assert!(error.starts_with(&expected), "{error}");
}

#[test]
fn a_device_without_clip_groups_refuses_it_and_leaves_the_gradients_as_they_are() -> Result {
    let (gpu, _, scaler) = start(LossScale::dynamic())?;
    let groups = [ClipGroup::new(["w"], Norm::L2, 1.0)];
    let mut set = grads(3.0)(&loss())?;
    let one = gpu.upload_state(ScaleState::from_exponent(0))?;
    let mut verdict = gpu.unscale(&mut set, &one)?;
    let error = gpu.clip_groups(&mut set, &groups, &mut verdict).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let w = set[0].value.as_ref().expect("a gradient");
    assert_eq!((gpu.download(w), gpu.copies()), (vec![3.0], 0));
    let unscaled = scaler.scale(&loss())?.backward(grads(3.0))?.unscale()?;
    unsupported(unscaled.clip_groups(&groups).expect_err("refused"), "GradOps::clip_groups");
    Ok(())
}

#[test]
fn a_device_that_cannot_save_a_window_says_so_before_it_reads_and_the_window_goes_on() -> Result {
    let (gpu, mut sgd, mut scaler) = start(LossScale::dynamic())?;
    let mut window = scaler.accumulate(BadMicroBatch::SkipWindow);
    window.add(scaler.scale(&loss())?.backward(grads(65536.0))?.unscale()?)?;
    unsupported(window.save().unwrap_err(), "GradOps::save_grads");
    assert_eq!(gpu.reads(), 0);
    let sum = window.finish()?.expect("a micro-batch was added");
    assert!(scaler.update(sum.step(&mut sgd)?)?.resolve()?.is_applied());

    let (verdict, parts, grads) = (FoundInf::default(), Vec::new(), Some(Vec::new()));
    let saved = SavedWindow { bad: BadMicroBatch::Drop, len: 1, verdict, parts, grads };
    unsupported(scaler.reopen(&(), &saved).unwrap_err(), "GradOps::grad_forms");
    unsupported(gpu.load_grads(&(), &Vec::new()).unwrap_err(), "GradOps::load_grads");
    Ok(())
}

#[test]
fn ranks_on_a_device_that_takes_no_finding_are_refused_and_keep_their_own() -> Result {
    let gpu = Gpu::default();
    let one = gpu.upload_state(ScaleState::from_exponent(0))?;
    let mut found = gpu.unscale(&mut grads(f32::NAN)(&loss())?, &one)?;
    let reduce = |own: &mut FoundInf| -> Result {
        own.halted = true;
        Ok(())
    };
    let error: GpuError = gpu.reduce_on_host(&mut found, reduce).unwrap_err();
    unsupported(error, "ScaleStore::upload_found");
    let (own, _) = gpu.read(&[&found], &one)?;
    assert_eq!((own[0].nans, own[0].halted), (1, false));
    Ok(())
}
