//! candle with its `cuda` feature: Binade's handle over its tensors, and Binade's backend in its stream.

use binade_candle::{Candle, Error};
use binade_core::{FoundInf, NamedGrads};
use binade_cuda::Cuda;
use binade_grad_scaler::{GradScaler, ScaleState};
use candle_core::{CudaDevice, Tensor};

/// The backend in the stream of a device of candle's, after what candle has put there and before what it will.
///
/// # Errors
///
/// When the device fails.
pub fn backend(device: &CudaDevice) -> Result<Cuda, binade_cuda::Error> {
    Cuda::on(device.cuda_stream())
}

/// The handle takes candle's tensors whatever device they are on.
///
/// # Errors
///
/// candle's.
pub fn unscale(grads: &mut NamedGrads<Tensor>, scale: &ScaleState) -> Result<FoundInf, Error> {
    Candle.unscale(grads, scale)
}
