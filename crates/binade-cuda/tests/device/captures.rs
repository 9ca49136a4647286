//! Steps that cannot be captured, each by its reason, and the state after the attempt.

use crate::{
    model::Model,
    support::{Result, cuda, l2_norm, own, vector, warmed},
};
use binade_autocast::Autocast;
use binade_core::ops::Upload;
use binade_core::{DType, Named};
use binade_cuda::{CaptureError, Captured, Cuda, CudaError, Error, ReferencePass};
use binade_grad_scaler::{GradScaler, LossScale, ScaleStore, Step, StepOutcome};
use binade_master_weights::{Adam, OptimizerConfig, UpdateRule};

crate::tests![
    what_no_graph_can_do_is_refused_by_name,
    a_step_that_changes_is_refused_where_it_does,
    more_findings_than_a_report_has_room_for_are_refused,
    memory_that_the_warm_ups_did_not_leave_is_refused,
    a_step_whose_state_is_gone_is_not_replayed,
    a_second_capture_and_a_second_thread_are_refused,
    a_stream_that_cannot_be_captured_is_refused,
    an_outcome_before_the_first_replay_is_refused,
    a_bias_that_does_not_fade_is_refused,
    a_step_that_panics_leaves_a_handle_that_works,
    a_captured_step_gives_its_memory_back,
];

pub(crate) fn config() -> OptimizerConfig {
    OptimizerConfig::new(UpdateRule::adamw(1e-2)).unwrap()
}

pub(crate) fn model() -> Result<Model> {
    let model = Model::new(&own(), config(), DType::F16)?;
    model.write(0)?;
    Ok(model)
}

/// Returns the refusal of a captured run that does `also` after the step. The warm-ups do nothing instead.
fn refused<R>(
    also: impl FnOnce(&mut Model, StepOutcome<Cuda>) -> Result<R, Error>,
) -> Result<(&'static str, CaptureError)> {
    let mut model = model()?;
    let cuda = model.cuda.clone();
    let capture = warmed(&cuda, || model.step())?;
    let before = model.trace()?;
    let captured = capture.capture(|| {
        let outcome = model.step()?;
        also(&mut model, outcome)
    });
    let why = why(captured.map(drop));
    assert_eq!(model.trace()?, before, "nothing has run");
    drop(model.step()?.resolve()?);
    Ok(why)
}

/// Returns the operation and the reason of a refusal.
pub(crate) fn why<T>(result: Result<T, Error>) -> (&'static str, CaptureError) {
    match result {
        Err(Error::Driver(CudaError::Capture { operation, why })) => (operation, why),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("this must be refused"),
    }
}

fn what_no_graph_can_do_is_refused_by_name() -> Result {
    let read = |operation| (operation, CaptureError::Read);
    assert_eq!(refused(|_, outcome| outcome.resolve())?, read("resolve"));
    assert_eq!(refused(|_, outcome| outcome.try_resolve().map(drop))?, read("poll"));
    assert_eq!(refused(|model, _| model.scaler.state())?, read("resolve"));
    assert_eq!(refused(|model, _| model.cuda.synchronize())?, read("synchronize"));
    assert_eq!(refused(|model, _| model.cuda.to_bits(&model.data[0]))?, read("download"));
    let trim = |model: &mut Model, _| {
        model.cuda.trim();
        Ok(())
    };
    assert_eq!(refused(trim)?, read("trim"));
    let upload = |bytes| ("upload", CaptureError::Upload { bytes });
    assert_eq!(refused(|model, _| model.cuda.upload(&[1.0; 5], &[5], DType::F32))?, upload(20));
    assert_eq!(refused(|model, _| model.cuda.write(&model.data[1], &[1.0; 7]))?, upload(28));
    let rate = |model: &mut Model, _| {
        model.optimizer.set_config(OptimizerConfig::new(UpdateRule::adamw(1e-3)).unwrap())
    };
    assert_eq!(refused(rate)?, ("set_config", CaptureError::Upload { bytes: 3 * 96 }));
    // A refusal that the step swallows is still one.
    let swallowed = |model: &mut Model, _| {
        let _ = model.cuda.synchronize();
        Ok(())
    };
    assert_eq!(refused(swallowed)?, read("synchronize"));
    Ok(())
}

/// Returns the refusal of a captured run whose step does `each` with the number of the run.
fn differing<R>(
    each: impl Fn(&mut Model, u8) -> Result<R, Error>,
) -> Result<(&'static str, CaptureError)> {
    let mut model = model()?;
    let (cuda, mut runs) = (model.cuda.clone(), 0..);
    let mut next = || each(&mut model, runs.next().unwrap_or_default());
    Ok(why(warmed(&cuda, &mut next)?.capture(next)))
}

fn a_step_that_changes_is_refused_where_it_does() -> Result {
    // Another operation, a missing operation, and another value.
    let more = differing(|model, run| {
        model.cuda.cast(&model.data[0], DType::F16)?;
        if run == 2 { model.cuda.cast(&model.data[0], DType::F16).map(drop) } else { Ok(()) }
    })?;
    assert_eq!(more, ("cast", CaptureError::Changed { number: 1 }));
    let less = differing(|model, run| {
        model.cuda.cast(&model.data[0], DType::F16)?;
        if run < 2 { model.cuda.reference_pass(ReferencePass::Nothing) } else { Ok(()) }
    })?;
    assert_eq!(less, ("nothing", CaptureError::Missing { number: 1 }));
    let value = differing(|model, run| {
        let key = binade_core::stochastic::Key { seed: 1, step: run.into(), parameter: 0 };
        model.cuda.cast_stochastic(&model.data[0], DType::F16, key)
    })?;
    assert_eq!(value, ("cast_stochastic", CaptureError::Changed { number: 0 }));
    // Other data, and so another address: in an argument, and in a table.
    let place = |run: u8| usize::from(run == 2);
    let address = differing(|model, run| model.cuda.cast(&model.data[1 + place(run)], DType::F16))?;
    assert_eq!(address, ("cast", CaptureError::Changed { number: 0 }));
    let table = differing(|model, run| l2_norm(&model.cuda, &model.data[place(run)..][..2]))?;
    assert_eq!(table, ("table", CaptureError::Table { bytes: 64 }));
    Ok(())
}

fn more_findings_than_a_report_has_room_for_are_refused() -> Result {
    let cuda = own();
    let rule = LossScale::dynamic();
    let mut scale = cuda.upload_state(rule.start())?;
    let mut grads = vec![Named::new("w", Some(vector(&cuda, &[1.0], DType::F16)))].into();
    let found = cuda.unscale(&mut grads, &scale)?;
    let mut step = || cuda.update(&mut scale, &[&found; 64], &[&found], &rule);
    let capture = warmed(&cuda, &mut step)?;
    let refused = why(capture.capture(&mut step));
    assert_eq!(refused, ("scale_update", CaptureError::Findings { found: 65, most: 64 }));
    Ok(())
}

fn memory_that_the_warm_ups_did_not_leave_is_refused() -> Result {
    let mut kept = Vec::new();
    let cuda = own();
    let tensor = vector(&cuda, &[1.0; 600], DType::F32);
    let (first, capture) = cuda.capture().warm_up(|| cuda.cast(&tensor, DType::F16))?;
    let (second, capture) = capture.warm_up(|| cuda.cast(&tensor, DType::F16))?;
    kept.extend([first, second]);
    let unserved = why(capture.capture(|| cuda.cast(&tensor, DType::F16)));
    assert_eq!(unserved, ("the start", CaptureError::Unserved { bytes: 2048 }));

    // Memory that was there before, and memory that another capture has made.
    let (made, other) = cuda.capture().warm_up(|| cuda.cast(&tensor, DType::F16))?;
    drop(other);
    for (old, bytes) in [(vector(&cuda, &[1.0; 600], DType::F32), 4096), (made, 2048)] {
        let mut old = Some(old);
        let mut step = |run: u8| -> Result<(), Error> {
            cuda.cast(old.as_ref().unwrap_or(&tensor), DType::BF16)?;
            old.take_if(|_| run == 2);
            Ok(())
        };
        let ((), capture) = cuda.capture().warm_up(|| step(0))?;
        let ((), capture) = capture.warm_up(|| step(1))?;
        let freed = why(capture.capture(|| step(2)));
        assert_eq!(freed, ("cast", CaptureError::Freed { bytes }));
    }
    Ok(())
}

pub(crate) type Steps = Captured<StepOutcome<Cuda>>;

pub(crate) fn captured() -> Result<(Model, Steps)> {
    let mut model = model()?;
    let (captured, _) = model.captured(Model::step)?;
    Ok((model, captured))
}

fn a_step_whose_state_is_gone_is_not_replayed() -> Result {
    let stale = ("replay", CaptureError::Stale);
    let (mut model, steps) = captured()?;
    drop(steps.replay()?.resolve()?);
    let now = model.scaler.state()?;
    model.scaler.set_state(now)?;
    assert_eq!(why(steps.replay()), stale);

    let (mut model, steps) = captured()?;
    let old = model.optimizer.params[1].value.address();
    model.optimizer.params[1].value = vector(&model.cuda, &[0.0; 7], DType::F16);
    // A request for as much memory as was dropped does not get the graph's.
    let fresh: Vec<_> = (0..20).map(|_| vector(&model.cuda, &[5.0; 7], DType::F16)).collect();
    assert_eq!(why(steps.replay()), stale);
    assert!(fresh.iter().all(|other| other.address() != old));
    drop(steps);
    let next: Vec<_> = (0..99).map(|_| vector(&model.cuda, &[5.0; 7], DType::F16)).collect();
    assert!(next.iter().any(|other| other.address() == old), "once the graph is gone");
    drop((fresh, next));

    let (model, steps) = captured()?;
    drop(model.optimizer);
    assert_eq!(why(steps.replay()), stale, "the optimizer is gone");
    Ok(())
}

fn a_second_capture_and_a_second_thread_are_refused() -> Result {
    let cuda = own();
    let nested = cuda.capture().warm_up(|| cuda.capture().warm_up(|| Ok::<_, Error>(())).map(drop));
    assert_eq!(why(nested.map(drop)), ("capture", CaptureError::Nested));
    let tensor = vector(&cuda, &[1.0], DType::F32);
    let elsewhere = || {
        let work = || cuda.cast(&tensor, DType::F16).map(drop);
        std::thread::scope(|scope| scope.spawn(work).join().unwrap())
    };
    let step = || cuda.reference_pass(ReferencePass::Nothing);
    let ((), capture) = cuda.capture().warm_up(step)?;
    elsewhere()?;
    let ((), capture) = capture.warm_up(step)?;
    let mut said = Ok(());
    let captured = capture.capture(|| {
        said = elsewhere();
        step()
    })?;
    assert_eq!(why(said).1, CaptureError::Thread);
    elsewhere()?;
    captured.replay()?;
    Ok(())
}

fn a_stream_that_cannot_be_captured_is_refused() -> Result {
    let same = Cuda::on(cuda().stream().context().default_stream())?;
    let step = || same.reference_pass(ReferencePass::Nothing);
    let capture = warmed(&same, step)?;
    assert_eq!(why(capture.capture(step)), ("capture", CaptureError::Stream));
    Ok(())
}

fn an_outcome_before_the_first_replay_is_refused() -> Result {
    let mut model = model()?;
    let capture = warmed(&model.cuda.clone(), || model.step())?;
    let mut early = None;
    let captured =
        capture.capture(|| model.step().inspect(|outcome| early = Some(outcome.clone())))?;
    let early = early.ok_or("no outcome")?;
    assert_eq!(why(early.clone().resolve()), ("resolve", CaptureError::Unplayed));
    assert_eq!(model.scaler.state()?.updates, 2, "the captured run was none");
    captured.replay()?.ignore();
    assert_eq!(early.resolve()?.report().scale.updates, 3);
    Ok(())
}

fn a_bias_that_does_not_fade_is_refused() -> Result {
    let UpdateRule::Adam(adam) = UpdateRule::adamw(1e-2) else { return Err("no Adam".into()) };
    let rule = UpdateRule::Adam(Adam { betas: [0.9, 0.999_999_999], ..adam });
    let mut model = Model::new(&own(), OptimizerConfig::new(rule)?, DType::F16)?;
    let (operation, reason) = why(model.cuda.capture().warm_up(|| model.step()).map(drop));
    assert_eq!(operation, "prepare");
    assert!(matches!(reason, CaptureError::Correction { .. }), "{reason}");
    model.write(0)?;
    assert!(matches!(model.step()?.resolve()?, Step::Applied(_)), "uncaptured it steps as ever");

    // Parameters with such betas cannot join either.
    let (mut model, steps) = captured()?;
    let more = vec![Named::new("more", vector(&model.cuda, &[1.0; 9], DType::F16))];
    let refused = model.optimizer.join(more, OptimizerConfig::new(rule)?);
    assert!(matches!(why(refused).1, CaptureError::Correction { .. }));
    drop(steps.replay()?.resolve()?);

    // A new configuration with them is refused too, and the old one goes on.
    let (mut model, steps) = captured()?;
    let refused = model.optimizer.set_config(OptimizerConfig::new(rule)?);
    assert!(matches!(why(refused).1, CaptureError::Correction { .. }));
    let (mut other, others) = captured()?;
    steps.replay()?.ignore();
    others.replay()?.ignore();
    assert_eq!(model.trace()?, other.trace()?);
    drop((steps, others));
    model.step()?.ignore();
    other.step()?.ignore();
    assert_eq!(model.trace()?, other.trace()?);
    Ok(())
}

fn a_step_that_panics_leaves_a_handle_that_works() -> Result {
    let mut model = model()?;
    let capture = warmed(&model.cuda.clone(), || model.step())?;
    let panics = std::panic::AssertUnwindSafe(|| {
        capture.capture(|| -> Result<(), Error> {
            model.step()?.ignore();
            std::panic::resume_unwind(Box::new(()))
        })
    });
    assert!(std::panic::catch_unwind(panics).is_err());
    drop(model.step()?.resolve()?);
    Ok(())
}

/// Returns true if a request for as much memory as that at `address` may get it.
fn is_anyones(cuda: &Cuda, address: u64) -> Result<bool> {
    let other = |_| cuda.upload(&[0.0; 3000], &[3000], DType::F16);
    let others = (0..20).map(other).collect::<Result<Vec<_>, _>>()?;
    Ok(others.iter().any(|other| other.address() == address))
}

fn a_captured_step_gives_its_memory_back() -> Result {
    let cuda = own();
    let tensor = vector(&cuda, &[1.0; 3000], DType::F32);
    let step = || cuda.cast(&tensor, DType::F16);
    let capture = warmed(&cuda, step)?;
    let captured = capture.capture(step)?;
    let result = captured.replay()?;
    let address = result.address();
    drop(result);
    assert!(!is_anyones(&cuda, address)?, "the next replay writes there");
    let result = captured.replay()?;
    assert_eq!(result.address(), address);
    drop(captured);
    assert!(!is_anyones(&cuda, address)?, "somebody has the result");
    assert_eq!(cuda.to_bits(&result)?, cuda.to_bits(&step()?)?);
    drop(result);
    assert!(is_anyones(&cuda, address)?, "nobody has it");
    // Memory of a capture that is dropped unfinished comes back too.
    let (result, capture) = cuda.capture().warm_up(step)?;
    let address = result.address();
    drop(result);
    assert!(!is_anyones(&cuda, address)?);
    drop(capture);
    assert!(is_anyones(&cuda, address)?);
    Ok(())
}
