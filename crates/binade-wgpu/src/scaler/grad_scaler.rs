//! Scaling losses and looking at gradients.

use super::Scale;
use crate::{
    Error, Found, Gradients, Tensor, Wgpu,
    dispatch::{
        Bound, groups, parts,
        structs::{self, code, count},
    },
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use binade_core::DType;
use binade_gpu::Driver;
use binade_grad_scaler::{GradScaler, Loss};

pub(super) const SCALE: Shader = Shader {
    name: "scale",
    file: "scale",
    params: size_of::<structs::Times>(),
    bindings: &[(1, Read), (2, Read), (3, Write)],
};

impl Loss<Wgpu> for Tensor {
    type Error = Error;

    fn scaled(&self, device: &Wgpu, scale: &Scale) -> Result<Self, Error> {
        device.times(self, scale, 0)
    }

    fn unscaled(&self, device: &Wgpu, scale: &Scale) -> Result<Self, Error> {
        device.times(self, scale, 1)
    }
}

impl GradScaler for Wgpu {
    fn unscale(&self, grads: &mut Gradients, scale: &Scale) -> Result<Found, Error> {
        if grads.owed.is_some() {
            *grads = grads.settled(self, f32::INFINITY)?;
        }
        self.inspect(grads, scale)
    }
}

impl Wgpu {
    /// `tensor`, in `f32`, times the scale, or its inverse where `is_inverse` is 1.
    fn times(&self, tensor: &Tensor, scale: &Scale, is_inverse: u32) -> Result<Tensor, Error> {
        self.has_made(tensor.buffer())?;
        self.has_made(&scale.bits)?;
        let dtype = code("scale", tensor.dtype())?;
        let result = self.unset(DType::F32, tensor.shape())?;
        for part in parts(tensor.len(), 4, self.facts().most_binding_bytes) {
            let (input, start) = Bound::elements(tensor, part.clone());
            let (output, _) = Bound::elements(&result, part.clone());
            let params = structs::Times { len: count(part.len()), dtype, start, is_inverse };
            let bound = vec![input, Bound::whole(&scale.bits), output];
            self.dispatch(&SCALE, &params, bound, groups(part.len()))?;
        }
        Ok(result)
    }
}
