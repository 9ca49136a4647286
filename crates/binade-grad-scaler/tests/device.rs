//! A device whose findings are not the host's: when it is read, and what it says of the methods that it leaves out.

use crate::common::remote::{Gpu, Idle};
use crate::common::{Host, Result, f32s, w};
use binade_core::{Error, ErrorKind, FoundInf};
use binade_grad_scaler::{
    BadMicroBatch, ClipGroup, GradOps, GradScaler, LossScale, Norm, SavedWindow, ScaleState,
    ScaleStore, Scaler, StepOutcome, UnscaledGrads,
};

fn start() -> Result<(Gpu, Scaler<Gpu>)> {
    let gpu = Gpu::default();
    Ok((gpu.clone(), Scaler::new(gpu, LossScale::dynamic())?))
}

fn unscaled(scaler: &Scaler<Gpu>, x: f32) -> Result<UnscaledGrads<Gpu>> {
    scaler.scale(&f32s(&[1.0]))?.backward(|_: &Host| Ok(w(&[x])))?.unscale()
}

fn step(scaler: &mut Scaler<Gpu>, x: f32) -> Result<StepOutcome<Gpu>> {
    let step = unscaled(scaler, x)?.clip_norm(1.0)?.step(&mut Idle)?;
    scaler.update(step)
}

#[test]
fn an_outcome_reads_once_it_is_resolved_however_late() -> Result {
    let (gpu, mut scaler) = start()?;
    let (late, next) = (step(&mut scaler, f32::NAN)?, step(&mut scaler, 1.0)?);
    assert_eq!(gpu.reads(), 0);
    let states = [late.resolve()?, next.resolve()?].map(|step| step.report().scale);
    assert_eq!(states.map(|s| (s.before, s.exponent, s.updates)), [(16, 15, 1), (15, 15, 2)]);
    assert_eq!(gpu.reads(), 2);
    Ok(())
}

#[test]
fn a_poll_gives_the_outcome_back_until_the_device_is_done() -> Result {
    let (gpu, mut scaler) = start()?;
    gpu.set_busy(true);
    let outcome = step(&mut scaler, f32::NAN)?.try_resolve()?.expect_err("busy");
    assert_eq!(gpu.reads(), 0);
    gpu.set_busy(false);
    assert!(!outcome.try_resolve()?.expect("done").is_applied());
    assert_eq!(gpu.reads(), 1);
    Ok(())
}

#[test]
fn backward_is_verified_by_one_read_and_the_scaler_is_left_as_it_was() -> Result {
    let (gpu, scaler) = start()?;
    let loss = f32s(&[1.0]);
    scaler.verify_backward(&loss, |seed| Ok(w(&seed.to_f32())))?;
    assert_eq!(gpu.reads(), 1);
    let ignoring = scaler.verify_backward(&loss, |_| Ok(w(&[1.0])));
    assert_eq!(ignoring.expect_err("ignored").kind(), ErrorKind::InvalidArgument);
    assert_eq!((scaler.state()?, scaler.in_flight()), (LossScale::dynamic().start(), 0));
    Ok(())
}

#[test]
fn an_optional_method_that_is_left_out_is_refused_by_name_before_anything_is_read() -> Result {
    let (gpu, scaler) = start()?;
    let one = gpu.upload_state(ScaleState::from_exponent(0))?;
    let mut grads = w(&[3.0, f32::NAN]);
    let mut found = gpu.unscale(&mut grads, &one)?;
    let groups = [ClipGroup::new(["w"], Norm::L2, 1.0)];
    let refused = gpu.clip_groups(&mut grads, &groups, &mut found);
    assert_eq!(
        grads[0].value.as_ref().expect("a gradient").to_f32()[0].to_bits(),
        3.0_f32.to_bits()
    );
    let mut window = scaler.accumulate(BadMicroBatch::SkipWindow);
    window.add(unscaled(&scaler, 65536.0)?)?;
    let parts = Vec::new();
    let saved = SavedWindow {
        bad: BadMicroBatch::Drop,
        len: 1,
        verdict: FoundInf::default(),
        parts,
        grads: Some(Vec::new()),
        rows: Vec::new(),
    };
    let clipped = unscaled(&scaler, 3.0)?.clip_groups(&groups).map(drop);
    let kinds = [&refused, &clipped].map(|refused| refused.as_ref().err().map(Error::kind));
    assert_eq!(kinds, [Some(ErrorKind::Unsupported); 2]);
    let text = |refused: Result| refused.map_err(|error| error.to_string());
    let opened = scaler.reopen(&(), &saved).map(drop).map_err(|error| error.to_string());
    for (refused, method) in [
        (text(refused), "GradOps::clip_groups"),
        (text(clipped), "GradOps::clip_groups"),
        (text(window.save().map(drop)), "GradOps::save_grads"),
        (opened, "GradOps::grad_forms"),
        (text(gpu.load_grads(&(), &Vec::new()).map(drop)), "GradOps::load_grads"),
    ] {
        let error = refused.expect_err(method);
        let expected = format!(
            "`{}` does not implement the optional `{method}`",
            std::any::type_name::<Gpu>()
        );
        assert!(error.starts_with(&expected), "{error}");
    }
    assert_eq!(gpu.reads(), 0);
    assert!(window.finish()?.is_some(), "it goes on");

    let error = gpu.upload_found(&FoundInf::default()).map(drop).expect_err("it takes no finding");
    assert!(error.to_string().contains("`ScaleStore::upload_found`"), "{error}");
    Ok(())
}
