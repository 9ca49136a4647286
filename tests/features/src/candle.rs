//! candle with its `cuda` feature: Binade's handle over its tensors, and Binade's backend on its `Var`s where they lie.

use binade_candle::cuda::{CudaLoss, CudaOptimizer, adopt_grads};
use binade_candle::{Candle, Error, backward};
use binade_core::{FoundInf, NamedGrads};
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
    let grads = grads.backward(|loss| adopt_grads(cuda, &backward(&loss.0, &optimizer.vars)?))?;
    let step = grads.unscale()?.clip_norm(1.0)?.step(optimizer)?;
    Ok(scaler.update(step)?)
}

/// The handle takes candle's tensors whatever device they are on.
///
/// # Errors
///
/// candle's.
pub fn unscale(grads: &mut NamedGrads<Tensor>, scale: &ScaleState) -> Result<FoundInf, Error> {
    Candle.unscale(grads, scale)
}
