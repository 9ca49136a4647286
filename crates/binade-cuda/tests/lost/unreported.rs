//! A replay after whose graph the driver fails: the step is done, and the error says so.

use binade_core::ops::Upload;
use binade_core::{DType, Named};
use binade_cuda::{CaptureError, Cuda, CudaError, Error, cudarc};
use binade_grad_scaler::{LossScale, Scaler};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};
use cudarc::driver::{CudaContext, DriverError, result, sys::CUresult};
use libtest_mimic::Failed;
use std::{
    ffi::c_void,
    sync::atomic::{AtomicBool, Ordering},
};

/// Flag that makes the device's host function leave an error.
static FAILS: AtomicBool = AtomicBool::new(false);

pub(crate) fn unreported() -> Result<(), Failed> {
    let cuda = Cuda::open(0)?;
    let weight = Named::new("weight", cuda.upload(&[0.5; 8], &[8], DType::F16)?);
    let config = OptimizerConfig::new(UpdateRule::adamw(1e-3))?;
    let mut optimizer = MasterOptimizer::new(cuda.clone(), vec![weight], config)?;
    let mut scaler = Scaler::new(cuda.clone(), LossScale::dynamic())?;
    let loss = cuda.upload(&[1.0], &[], DType::F32)?;
    let grad = cuda.upload(&[0.25; 8], &[8], DType::F16)?;
    let mut step = || {
        let grads = scaler
            .scale(&loss)?
            .backward(|_| Ok(vec![Named::new("weight", Some(cuda.duplicate(&grad)?))].into()))?;
        let step = grads.unscale()?.step(&mut optimizer)?;
        scaler.update(step)
    };
    let ((), capture) = cuda.capture().warm_up(|| step()?.resolve().map(drop))?;
    let ((), capture) = capture.warm_up(|| step()?.resolve().map(drop))?;
    let mut early = None;
    let captured = capture.capture(|| {
        let outcome = step()?;
        early = Some(outcome.clone());
        leave_errors(&cuda).map_err(|error| {
            Error::Driver(CudaError::Call { call: "host", cause: error.to_string() })
        })?;
        Ok::<_, Error>(outcome)
    })?;
    let early = early.ok_or("no outcome")?;
    assert_eq!(captured.replay()?.resolve()?.report().scale.updates, 3);

    let reports = cuda.counters().reports;
    FAILS.store(true, Ordering::Relaxed);
    let said = captured.replay();
    FAILS.store(false, Ordering::Relaxed);
    let Err(Error::Driver(CudaError::Unreported { cause })) = &said else {
        return Err(format!("{said:?}").into());
    };
    assert!(cause.contains("CUDA_ERROR_INVALID_VALUE"), "{cause}");
    assert_eq!(cuda.counters().reports, reports);
    // What the replay before it has said is not said again.
    let unplayed =
        Error::Driver(CudaError::Capture { operation: "resolve", why: CaptureError::Unplayed });
    assert_eq!(early.clone().resolve().expect_err("nothing was sent"), unplayed);

    // The step was done, so the next one counts on from it.
    assert_eq!(captured.replay()?.resolve()?.report().scale.updates, 5);
    assert_eq!(early.resolve()?.report().scale.updates, 5);
    Ok(())
}

/// Puts a host function in the stream that makes a later call of the driver fail.
#[expect(unsafe_code, reason = "a host function")]
fn leave_errors(cuda: &Cuda) -> Result<(), DriverError> {
    let (stream, context) = (cuda.stream(), cuda.stream().context());
    let context = std::ptr::from_ref::<CudaContext>(context).cast_mut().cast();
    // SAFETY: the context outlives the stream, the stream every graph of it, and the function borrows the context alone.
    unsafe { result::stream::launch_host_function(stream.cu_stream(), leave_error, context) }
}

/// Leaves an error for the next caller, as cudarc does with an error of a drop.
#[expect(unsafe_code, reason = "called by the driver, with the context it was given")]
unsafe extern "C" fn leave_error(context: *mut c_void) {
    if FAILS.load(Ordering::Relaxed) {
        // SAFETY: whoever asked for this call keeps the context alive.
        let context = unsafe { &*context.cast::<CudaContext>() };
        context.record_err(Err::<(), _>(DriverError(CUresult::CUDA_ERROR_INVALID_VALUE)));
    }
}
