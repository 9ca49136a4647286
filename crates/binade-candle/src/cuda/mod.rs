//! `Var`s and gradients on a CUDA device, checked and stepped in place by `binade-cuda`'s kernels.

mod memory;

pub use memory::adopt_grads;

use crate::Error;
use binade_core::ops::Fill;
use binade_core::{DType, Named, Optimizer};
use binade_cuda::{AdoptError, Cuda, CudaError, Found, Gradients, Scale};
use binade_grad_scaler::Loss;
use binade_master_weights::MasterOptimizer;
use candle_core::cuda_backend::CudaStorage;
use candle_core::op::BackpropOp;
use candle_core::{Device, Storage, Tensor};
use std::fmt;

/// Returns Binade's CUDA backend on the stream of candle's `device`. Work of both runs in the order of its launch, without events.
///
/// # Errors
///
/// [`Error::NotOnCuda`] if `device` is no CUDA device. `PerThreadStream` for a device of `Device::new_cuda`, which has one stream for each thread:
/// create it by `Device::new_cuda_with_stream`.
pub fn backend(device: &Device) -> Result<Cuda, Error> {
    match device {
        Device::Cuda(device) => Ok(Cuda::on(device.cuda_stream())?),
        _ => Err(Error::NotOnCuda { name: "the device".into() }),
    }
}

/// Optimizer of `Var`s on a CUDA device. It runs one fused step in the `Var`s' own memory, and keeps masters and moments on the device.
///
/// * A step copies no gradient and no parameter, and the host reads nothing.
/// * A `Var` that the configuration stores in another type becomes a new `Var`, as with the masters of [`Candle`](crate::Candle). So build the model
///   of [`vars`](Self::vars).
/// * candle guards memory by a lock. A step holds the locks of all `Var`s until its kernels are in the stream. If a `Var`'s memory has been replaced,
///   the error is [`AdoptError::Replaced`].
pub struct CudaOptimizer {
    /// Parameters that the model computes with.
    pub vars: Vec<Named<Tensor>>,
    /// Masters, moments, and the `Var`s' memory as tensors: for checkpoints and changes of the configuration. The caller's promise to
    /// [`new`](Self::new) covers these tensors and their clones.
    pub inner: MasterOptimizer<Cuda>,
    cuda: Cuda,
}

impl Optimizer<Gradients, Found> for CudaOptimizer {
    type Error = binade_cuda::Error;

    fn step(&mut self, grads: Gradients, found: &Found) -> Result<(), Self::Error> {
        let held: Vec<_> = self.vars.iter().map(|var| var.value.storage_and_layout()).collect();
        let places = self.vars.iter().zip(&held).zip(&self.inner.params);
        let mut streams = Vec::new();
        for ((var, (storage, layout)), param) in places {
            let place = memory::Place::of(&var.name, storage, layout).ok();
            let Some(place) = place.filter(|it| it.address == param.value.address()) else {
                let (operation, why) = ("step", AdoptError::Replaced);
                return Err(binade_cuda::Error::Driver(CudaError::Adopt { operation, why }));
            };
            if !streams.contains(&place.stream) {
                streams.push(place.stream);
            }
        }
        self.inner.step(grads, found)?;
        streams.iter().try_for_each(|stream| self.cuda.precede(stream))
    }
}

impl fmt::Debug for CudaOptimizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaOptimizer").field("vars", &self.vars.len()).finish_non_exhaustive()
    }
}

/// Loss of candle for a [`Scaler`](binade_grad_scaler::Scaler) of `binade-cuda`. candle's graph multiplies it by the scale on the device, which the
/// host does not read.
#[derive(Clone, Debug)]
pub struct CudaLoss(pub Tensor);

impl CudaLoss {
    fn times(&self, factor: &binade_cuda::Tensor, cuda: &Cuda) -> Result<Self, Error> {
        let Device::Cuda(device) = self.0.device() else {
            return Err(Error::NotOnCuda { name: "the loss".into() });
        };
        let mut slice = device.alloc_zeros::<f32>(1)?;
        device.memcpy_dtod(&*cuda.lend::<f32>(factor, &device.cuda_stream())?, &mut slice)?;
        let storage = Storage::Cuda(CudaStorage::wrap_cuda_slice(slice, device.clone()));
        let factor = Tensor::from_storage(storage, (), BackpropOp::none(), false);
        Ok(Self(self.0.to_dtype(candle_core::DType::F32)?.broadcast_mul(&factor)?))
    }
}

impl Loss<Cuda> for CudaLoss {
    type Error = Error;

    fn scaled(&self, cuda: &Cuda, scale: &Scale) -> Result<Self, Error> {
        self.times(&cuda.fill(1.0, &[], DType::F32)?.scaled(cuda, scale)?, cuda)
    }

    fn unscaled(&self, cuda: &Cuda, scale: &Scale) -> Result<Self, Error> {
        self.times(&cuda.fill(1.0, &[], DType::F32)?.unscaled(cuda, scale)?, cuda)
    }
}
