//! Scaling losses and looking at gradients.

use super::Scale;
use crate::{
    Cuda, Error, Found, Gradients, Tensor,
    autocast::{code, elementwise},
    kernels::SCALE,
    launch::Arg,
};
use binade_core::DType;
use binade_gpu::Driver;
use binade_grad_scaler::{GradScaler, Loss};

impl Loss<Cuda> for Tensor {
    type Error = Error;

    fn scaled(&self, device: &Cuda, scale: &Scale) -> Result<Self, Error> {
        device.has_made(&scale.bits)?;
        device.times(self, scale.factor())
    }

    fn unscaled(&self, device: &Cuda, scale: &Scale) -> Result<Self, Error> {
        device.has_made(&scale.bits)?;
        device.times(self, scale.inverse())
    }
}

impl GradScaler for Cuda {
    fn unscale(&self, grads: &mut Gradients, scale: &Scale) -> Result<Found, Error> {
        if grads.owed.is_some() {
            *grads = grads.settled(self, f32::INFINITY)?;
        }
        self.inspect(grads, scale)
    }
}

impl Cuda {
    /// `tensor`, in `f32`, times what is at `factor`.
    fn times(&self, tensor: &Tensor, factor: u64) -> Result<Tensor, Error> {
        self.has_made(tensor.buffer())?;
        let result = self.unset(DType::F32, tensor.shape())?;
        let args = [
            Arg::Address(tensor.address()),
            Arg::U32(code("scale", tensor.dtype())?),
            Arg::Address(result.address()),
            Arg::U64(tensor.len() as u64),
            Arg::Address(factor),
        ];
        self.launch(&SCALE, elementwise(tensor.len()), &args)?;
        Ok(result)
    }
}
