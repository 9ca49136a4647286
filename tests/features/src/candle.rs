//! candle with its `cuda` feature: Binade's handle over its tensors, and Binade's backend on its `Var`s where they lie.
#![expect(unsafe_code, reason = "candle's memory is adopted by its address")]

use binade_candle::cuda::{CudaLoss, CudaOptimizer, adopt_grads};
use binade_candle::{Candle, Error, backward};
use binade_core::{FoundInf, SparseGrads};
use binade_cuda::Cuda;
use binade_grad_scaler::{GradScaler, ScaleState, Scaler, StepOutcome};
use candle_core::Tensor;

/// A step of candle's `Var`s by Binade's fused kernels.
///
/// # Errors
///
/// candle's, and those of the device.
pub fn step(
    cuda: &Cuda,
    scaler: &mut Scaler<Cuda>,
    optimizer: &mut CudaOptimizer,
    loss: Tensor,
) -> Result<StepOutcome<Cuda>, Error> {
    let grads = scaler.scale(&CudaLoss(loss))?;
    let grads = grads.backward(|loss| {
        let grads = backward(&loss.0, &optimizer.vars)?;
        // SAFETY: backward made the gradients, and nobody else has them.
        unsafe { adopt_grads(cuda, &grads) }
    })?;
    let step = grads.unscale()?.clip_norm(1.0)?.step(optimizer)?;
    Ok(scaler.update(step)?)
}

/// The handle takes candle's tensors whatever device they are on.
///
/// # Errors
///
/// candle's.
pub fn unscale(grads: &mut SparseGrads<Tensor>, scale: &ScaleState) -> Result<FoundInf, Error> {
    Candle.unscale(grads, scale)
}
