//! `Var`s and gradients on a CUDA device, checked and stepped by `binade-cuda`'s kernels where they lie.

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

/// Returns Binade's CUDA backend in the stream of a device of candle's: its work and candle's are in one order, and no event is needed.
///
/// # Errors
///
/// [`Error::NotOnCuda`] for another device. `PerThreadStream` for a device of `Device::new_cuda`, which has another stream on each
/// thread: make it by `Device::new_cuda_with_stream`.
pub fn backend(device: &Device) -> Result<Cuda, Error> {
    match device {
        Device::Cuda(device) => Ok(Cuda::on(device.cuda_stream())?),
        _ => Err(Error::NotOnCuda { name: "the device".into() }),
    }
}

/// Optimizer of `Var`s on a CUDA device: one fused step on their own memory, with masters and moments on the device.
///
/// * Neither a gradient nor a parameter is copied in a step, and the host reads nothing.
/// * A `Var` that the configuration stores in another type becomes a new `Var`, as with [`Candle`](crate::Candle)'s masters: build the
///   model of [`vars`](Self::vars).
/// * candle lends memory behind a lock, which a step holds for all `Var`s until its kernels are in the stream. A `Var` that lies
///   elsewhere by then is [`AdoptError::Replaced`].
pub struct CudaOptimizer {
    /// Parameters that the model computes with.
    pub vars: Vec<Named<Tensor>>,
    /// Masters and moments, and the `Var`s' memory as tensors: for checkpoints, and to move the configuration. The promise made to
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

/// Loss of candle's for a [`Scaler`](binade_grad_scaler::Scaler) of `binade-cuda`: it is multiplied in candle's graph by the scale on
/// the device, which the host does not read.
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
