//! Clones of memory that a captured step works on: a clone keeps its values, and the refusal says what to drop.

use crate::{
    captures::{captured, model, why},
    model::Model,
    support::{Result, warmed},
};
use binade_autocast::Autocast;
use binade_core::DType;
use binade_cuda::{CaptureError, Cuda, Error, Tensor};
use binade_grad_scaler::StepOutcome;

crate::tests![
    what_a_captured_step_works_on_does_not_move,
    what_a_clone_reads_no_replay_changes,
    a_tape_that_lives_through_the_step_is_named_by_the_refusal,
    a_scale_that_the_last_warm_up_moved_is_named_by_the_refusal,
];

fn what_a_captured_step_works_on_does_not_move() -> Result {
    // One clone is held while the step is captured, and one while its graph lives.
    let mut early = model()?;
    let cuda = early.cuda.clone();
    let capture = warmed(&cuda, || early.step())?;
    let scaled = early.scaler.scale(&early.loss)?;
    let moved = why(capture.capture(|| early.step()));
    drop(scaled);
    assert_eq!(moved, ("scale_update", CaptureError::Moved));

    let (mut model, captured) = captured()?;
    let clone = model.optimizer.params[0].value.clone();
    assert_eq!(why(model.step()), ("copy", CaptureError::Moved));
    drop(clone);
    let scaled = model.scaler.scale(&model.loss)?;
    assert_eq!(why(model.step()), ("scale_update", CaptureError::Moved));
    drop(scaled);
    drop(model.step()?.resolve()?);
    // A duplicate is no clone.
    let copy = model.cuda.duplicate(&model.optimizer.params[0].value)?;
    drop(captured.replay()?.resolve()?);
    assert_ne!(model.cuda.to_bits(&copy)?, model.cuda.to_bits(&model.optimizer.params[0].value)?);
    drop(captured);
    drop(model.step()?.resolve()?);
    Ok(())
}

fn what_a_clone_reads_no_replay_changes() -> Result {
    let (mut model, steps) = captured()?;
    let held = ("replay", CaptureError::Held);
    let clone = model.optimizer.params[0].value.clone();
    assert_eq!(why(steps.replay()), held);
    drop(clone);
    let ordinary = model.step()?;
    assert_eq!(why(steps.replay()), held);
    drop(ordinary.resolve()?);
    let scaled = model.scaler.scale(&model.loss)?;
    assert_eq!(why(steps.replay()), held);
    drop(scaled);
    let (one, other) = (steps.replay()?, steps.replay()?);
    let updates = |outcome: StepOutcome<Cuda>| outcome.resolve().map(|s| s.report().scale.updates);
    assert_eq!((updates(other)?, updates(one)?), (5, 4));
    Ok(())
}

/// Steps after reading its parameters, as a tape does. The reads are dropped before the parameters move, unless they live.
fn on_tape(model: &mut Model, lives: bool) -> Result<StepOutcome<Cuda>, Error> {
    let params = model.optimizer.params.iter().map(|param| param.value.clone());
    let mut tape: Vec<Tensor> = params.collect();
    tape.iter().try_for_each(|param| model.cuda.cast(param, DType::F32).map(drop))?;
    tape.retain(|_| lives);
    model.step()
}

fn a_tape_that_lives_through_the_step_is_named_by_the_refusal() -> Result {
    let mut model = model()?;
    let cuda = model.cuda.clone();
    // Uncaptured, the step leaves the tape's values where they are.
    let capture = warmed(&cuda, || on_tape(&mut model, true))?;
    let error = capture.capture(|| on_tape(&mut model, true)).expect_err("it moves");
    assert_eq!(
        error.to_string(),
        "capture: `copy`: it moves what somebody else holds a clone of to another address, and a captured step knows only the \
         first; before it, drop the tape that the parameters are on, outcomes, and clones of parameters and scales; or else \
         the capture"
    );
    assert_eq!(why(Err::<(), _>(error)), ("copy", CaptureError::Moved));

    let capture = warmed(&cuda, || on_tape(&mut model, false))?;
    let steps = capture.capture(|| on_tape(&mut model, false))?;
    drop(steps.replay()?.resolve()?);
    let tape = model.optimizer.params[0].value.clone();
    let error = steps.replay().expect_err("it would change");
    assert!(error.to_string().contains("use these up or drop them, tapes among them"), "{error}");
    drop(tape);
    drop(steps.replay()?.resolve()?);
    Ok(())
}

fn a_scale_that_the_last_warm_up_moved_is_named_by_the_refusal() -> Result {
    let mut model = model()?;
    let cuda = model.cuda.clone();
    let (first, capture) = cuda.capture().warm_up(|| model.step())?;
    let ((), capture) = capture.warm_up(|| model.step().map(drop))?;
    let refused = why(capture.capture(|| model.step()));
    assert_eq!(refused, ("scale_update", CaptureError::Moved));
    drop(first.resolve()?);
    Ok(())
}
