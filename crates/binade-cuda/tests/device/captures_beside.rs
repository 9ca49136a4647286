//! Captures while other threads, and other handles of the same stream, work. None of their work is recorded, and none of the
//! graph's memory becomes theirs.

use crate::{
    captures::{self, why},
    graphs,
    model::{Model, STEPS, say},
    support::{Result, own, vector, warmed},
};
use binade_autocast::Autocast;
use binade_core::DType;
use binade_core::ops::{Download, Upload};
use binade_cuda::{CaptureError, Captured, Cuda, CudaError, Error, Tensor, cudarc::driver};
use binade_grad_scaler::StepOutcome;
use driver::{
    DriverError,
    sys::{CUresult, CUstreamCaptureMode, CUstreamCaptureStatus},
};
use std::{
    sync::{
        Barrier, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

crate::tests![
    what_is_dropped_as_a_capture_ends_stays_with_its_graph,
    what_another_thread_puts_in_the_stream_as_a_capture_begins_is_done,
    another_handle_of_the_stream_is_refused_while_one_captures,
    another_handle_of_the_stream_that_is_dropped_while_one_captures_leaves_no_trace,
    an_error_that_a_drop_has_left_does_not_leave_the_stream_capturing,
    a_stream_that_somebody_else_captures_is_left_to_them,
    replays_and_another_threads_steps_do_not_disturb_each_other,
    a_captured_step_outlives_its_handle_and_its_outcomes_outlive_it,
    two_streams_are_captured_at_once_by_two_threads,
];

fn wait_for(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        thread::yield_now();
    }
}

/// Captures a step after two warm-ups. The captured run does `also` after it.
fn captured(
    cuda: &Cuda,
    step: impl Fn() -> Result<Tensor, Error>,
    also: impl FnOnce(),
) -> Result<Captured<Tensor>, Error> {
    warmed(cuda, &step)?.capture(|| {
        let result = step();
        also();
        result
    })
}

fn what_is_dropped_as_a_capture_ends_stays_with_its_graph() -> Result {
    let cuda = own();
    // Nothing is written to it, and the write is refused all the same.
    let none = vector(&cuda, &[], DType::F32);
    let is_refused = || cuda.write_bits(&none, &[]).is_err();
    for round in 0..50 {
        let tensor = vector(&cuda, &[1.0; 600], DType::F32);
        let address = tensor.address();
        let (held, refused) = (Mutex::new(Some(tensor)), AtomicBool::new(false));
        let lock = || held.lock().unwrap_or_else(PoisonError::into_inner);
        let step = || lock().as_ref().map_or(Err(Error::Foreign), |it| cuda.cast(it, DType::F16));
        let drops = || {
            while !is_refused() {
                thread::yield_now();
            }
            refused.store(true, Ordering::Release);
            while is_refused() {
                std::hint::spin_loop();
            }
            lock().take();
            [1.0, 2.0].map(|x| vector(&cuda, &[x; 600], DType::F32))
        };
        let (captured, others) = thread::scope(|scope| {
            let mut other = None;
            let captured = captured(&cuda, step, || {
                other = Some(scope.spawn(drops));
                wait_for(&refused);
            });
            (captured, other.and_then(|other| other.join().ok()))
        });
        let others = others.ok_or("a panic")?;
        assert!(others.iter().all(|other| other.address() != address), "round {round}");
        drop(captured?);
    }
    Ok(())
}

fn what_another_thread_puts_in_the_stream_as_a_capture_begins_is_done() -> Result {
    let cuda = own();
    let data = vector(&cuda, &[1.0; 600], DType::F32);
    // One is written by an upload, the other by an upload and a kernel.
    let cells = [DType::F32, DType::F16].map(|dtype| vector(&cuda, &[0.0], dtype));
    for round in 0..60 {
        let cell = &cells[usize::from(round % 4 == 3)];
        let [begun, ended] = [false; 2].map(AtomicBool::new);
        let writes = || {
            let is_done = |x: &u16| cuda.write(cell, &[f32::from(*x)]).is_ok();
            let one = |x: &u16| {
                begun.store(true, Ordering::Release);
                is_done(x)
            };
            let last = (1..2000).take_while(one).last();
            ended.store(true, Ordering::Release);
            last.unwrap_or_default()
        };
        let step = || cuda.cast(&data, DType::F16);
        let capture = warmed(&cuda, step)?;
        let (captured, last) = thread::scope(|scope| {
            cuda.write(cell, &[0.0])?;
            let other = scope.spawn(writes);
            wait_for(&begun);
            // The other thread may be at any point.
            (0..round * 50).for_each(|_| std::hint::spin_loop());
            let captured = capture.capture(|| {
                wait_for(&ended);
                step()
            });
            Ok::<_, Error>((captured, other.join()))
        })?;
        let last = last.map_err(|_| "a panic")?;
        assert_eq!(cuda.download(cell)?, [f32::from(last)], "round {round}");
        let captured = captured?;
        cuda.write(cell, &[0.0])?;
        captured.replay()?;
        assert_eq!(cuda.download(cell)?, [0.0], "round {round}");
    }
    Ok(())
}

fn another_handle_of_the_stream_is_refused_while_one_captures() -> Result {
    let cuda = own();
    let other = Cuda::on(cuda.stream().clone())?;
    let data = vector(&cuda, &[1.0; 600], DType::F32);
    let theirs = vector(&other, &[1.0; 600], DType::F32);
    let step = || cuda.cast(&data, DType::F16);
    let used = other.memory_use().bytes;

    // An error that the step swallows is an error of the capture all the same: no replay would do that work.
    let mut said = Vec::new();
    let swallowed = captured(&cuda, step, || {
        said.push(why(other.cast(&theirs, DType::F16)).1);
        said.push(why(other.upload(&[1.0], &[1], DType::F32)).1);
        said.push(why(other.synchronize()).1);
        said.push(why(other.capture().warm_up(|| Ok::<_, Error>(()))).1);
        said.push(why(Cuda::on(cuda.stream().clone())).1);
    });
    assert_eq!(said, vec![CaptureError::Shared; 5]);
    assert_eq!(why(swallowed).1, CaptureError::Shared);

    // An error of another thread is none of the step's.
    let mut said = None;
    let captured = captured(&cuda, step, || {
        let cast = || other.cast(&theirs, DType::F16);
        said = thread::scope(|scope| scope.spawn(cast).join().ok());
    })?;
    assert_eq!(said.map(|said| why(said).1), Some(CaptureError::Shared));
    assert_eq!(captured.operations(), 1);
    assert_eq!(other.memory_use().bytes, used);
    captured.replay()?;
    assert_eq!(other.download(&other.cast(&theirs, DType::F16)?)?, [1.0; 600]);
    Ok(())
}

fn another_handle_of_the_stream_that_is_dropped_while_one_captures_leaves_no_trace() -> Result {
    let cuda = own();
    let other = Cuda::on(cuda.stream().clone())?;
    let data = vector(&cuda, &[1.0; 600], DType::F32);
    drop(vector(&other, &[1.0; 600], DType::F32));
    let captured = captured(
        &cuda,
        || cuda.cast(&data, DType::F16),
        || thread::scope(|scope| scope.spawn(|| drop(other)).join().unwrap_or_default()),
    )?;
    for _ in 0..3 {
        assert_eq!(cuda.download(&captured.replay()?)?, [1.0; 600]);
    }
    Ok(())
}

fn an_error_that_a_drop_has_left_does_not_leave_the_stream_capturing() -> Result {
    let cuda = own();
    let data = vector(&cuda, &[1.0; 600], DType::F32);
    let step = || cuda.cast(&data, DType::F16);
    // cudarc keeps an error of a drop in this way, for the next caller.
    let left = || {
        let error = DriverError(CUresult::CUDA_ERROR_INVALID_VALUE);
        cuda.stream().context().record_err(Err::<(), _>(error));
    };
    let failed = captured(&cuda, step, left);
    assert!(
        matches!(failed, Err(Error::Driver(CudaError::Call { call: "capture", .. }))),
        "{failed:?}"
    );
    let status = cuda.stream().capture_status()?;
    assert_eq!(status, CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE);
    assert_eq!(cuda.download(&step()?)?, [1.0; 600]);

    let panics = std::panic::AssertUnwindSafe(|| {
        captured(&cuda, step, || {
            left();
            std::panic::resume_unwind(Box::new(()))
        })
    });
    assert!(std::panic::catch_unwind(panics).is_err());
    assert_eq!(cuda.download(&step()?)?, [1.0; 600]);
    captured(&cuda, step, || {})?.replay()?;
    Ok(())
}

fn a_stream_that_somebody_else_captures_is_left_to_them() -> Result {
    let cuda = own();
    let data = vector(&cuda, &[1.0; 600], DType::F32);
    let step = || cuda.cast(&data, DType::F16);
    let capture = warmed(&cuda, step)?;
    let stream = cuda.stream();
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    let refused = capture.capture(step);
    assert!(
        matches!(refused, Err(Error::Driver(CudaError::Call { call: "capture", .. }))),
        "{refused:?}"
    );
    let status = stream.capture_status()?;
    assert_eq!(status, CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE);
    drop(stream.end_capture(driver::sys::CUgraphInstantiate_flags(0))?);
    assert_eq!(cuda.download(&captured(&cuda, step, || {})?.replay()?)?, [1.0; 600]);
    Ok(())
}

fn replays_and_another_threads_steps_do_not_disturb_each_other() -> Result {
    let config = |_| captures::config();
    let want = graphs::uncaptured(config, DType::F16, Model::step)?;
    let mut model = Model::new(&own(), config(0), DType::F16)?;
    let (steps, mut said) = model.captured(Model::step)?;
    let ordinary = || -> Result<_, String> {
        let text = |error: libtest_mimic::Failed| format!("{error:?}");
        let mut other = Model::new(&model.cuda, config(0), DType::F16).map_err(text)?;
        let mut said = Vec::new();
        for number in 0..STEPS {
            other.write(number).map_err(text)?;
            let step = other.step().and_then(StepOutcome::resolve);
            said.push(say(&step.map_err(|error| error.to_string())?));
        }
        Ok((said, other.trace().map_err(text)?))
    };
    let other = thread::scope(|scope| {
        let other = scope.spawn(ordinary);
        for number in 2..STEPS {
            model.write(number)?;
            said.push(say(&steps.replay()?.resolve()?));
        }
        Ok::<_, libtest_mimic::Failed>(other.join())
    })?;
    assert_eq!(other.map_err(|_| "a panic")?.as_ref(), Ok(&want));
    assert_eq!((said, model.trace()?), want);
    Ok(())
}

fn a_captured_step_outlives_its_handle_and_its_outcomes_outlive_it() -> Result {
    let (Model { cuda, scaler, optimizer, data, loss, .. }, steps) = captures::captured()?;
    drop(cuda);
    let outcome = steps.replay()?;
    drop((data, loss));
    let stale = steps.replay();
    assert_eq!(why(stale).1, CaptureError::Stale);
    drop((scaler, optimizer));
    let late = outcome.clone();
    drop(steps);
    assert_eq!(outcome.resolve()?.report().scale.updates, 3);
    assert_eq!(late.resolve()?.report().scale.updates, 3);
    Ok(())
}

fn two_streams_are_captured_at_once_by_two_threads() -> Result {
    let both = Barrier::new(2);
    let train = |x: f32| -> Result<(Vec<f32>, usize), String> {
        let cuda = Cuda::open(0).map_err(|error| error.to_string())?;
        let steps = || {
            let data = vector(&cuda, &[x; 600], DType::F32);
            // Both have begun before either ends.
            let wait = || {
                both.wait();
            };
            let captured = captured(&cuda, || cuda.cast(&data, DType::F16), wait)?;
            Ok((cuda.download(&captured.replay()?)?, captured.operations()))
        };
        steps().map_err(|error: Error| error.to_string())
    };
    let [one, two] = thread::scope(|scope| {
        [1.0, 2.0].map(|x| scope.spawn(move || train(x))).map(thread::ScopedJoinHandle::join)
    });
    assert_eq!(one.map_err(|_| "a panic")?, Ok((vec![1.0; 600], 1)));
    assert_eq!(two.map_err(|_| "a panic")?, Ok((vec![2.0; 600], 1)));
    Ok(())
}
