//! Operations, casts, uploads, downloads and moves.

use crate::{DeviceTensor, ModelParallel, ModelParallelError, handle::Failed};
use binade_autocast::Autocast;
use binade_core::ops::{
    Download, Invoke, OpInvocation, Ops, Shaped, ToDevice, Upload, forward_ops,
};
use binade_core::{DType, Handle};
use binade_grad_scaler::PeerDevice;
use std::borrow::Cow;

forward_ops!([D: Ops + Handle<Tensor: Clone>] ModelParallel<D>);

/// An operation without operands runs on the current device.
impl<D: Ops + Handle<Tensor: Clone>> Invoke for ModelParallel<D> {
    fn invoke(
        &self,
        call: &OpInvocation,
        operands: &[&DeviceTensor<D::Tensor>],
    ) -> Result<Vec<DeviceTensor<D::Tensor>>, Failed<D>> {
        let first = operands.first().map_or(self.current(), |operand| operand.device);
        if let Some(operand) = operands.iter().position(|operand| operand.device != first) {
            let (operation, other) = (call.method(), operands[operand].device);
            return Err(ModelParallelError::DifferentDevices { operation, first, operand, other });
        }
        let tensors: Vec<_> = operands.iter().map(|operand| &operand.tensor).collect();
        let run = |device: &D| call.run(device, &tensors).unwrap_or(Ok(Vec::new()));
        let results = self.one(first, run)?;
        Ok(results.into_iter().map(|tensor| DeviceTensor { tensor, device: first }).collect())
    }
}

impl<D: PeerDevice<Tensor: Clone>> ToDevice for ModelParallel<D> {
    fn device_of(&self, tensor: &DeviceTensor<D::Tensor>) -> usize {
        tensor.device
    }

    fn to_device(
        &self,
        DeviceTensor { tensor, device: from }: &DeviceTensor<D::Tensor>,
        device: usize,
    ) -> Result<DeviceTensor<D::Tensor>, Failed<D>> {
        let there = self.device(*from)?;
        let moved = self.one(device, |here| {
            if *from == device { Ok(tensor.clone()) } else { here.copy_from(tensor, there) }
        });
        Ok(DeviceTensor { tensor: moved?, device })
    }
}

/// Shape and type from the tensor's device. A tensor of another handle's devices has no shape here.
impl<D: Shaped> Shaped for ModelParallel<D> {
    fn shape(&self, tensor: &DeviceTensor<D::Tensor>) -> Vec<usize> {
        self.of(tensor).shape(&tensor.tensor)
    }

    fn element_count(&self, tensor: &DeviceTensor<D::Tensor>) -> usize {
        self.of(tensor).element_count(&tensor.tensor)
    }

    fn beside(&self, tensor: &DeviceTensor<D::Tensor>) -> Option<Self> {
        Some(self.at(tensor.device))
    }
}

impl<D: Handle> ModelParallel<D> {
    /// Returns a device that can read this tensor's type and shape. The tensor has them itself, so any device of the kind can.
    pub(crate) fn of(&self, tensor: &DeviceTensor<D::Tensor>) -> &D {
        self.of_number(tensor.device)
    }
}

impl<D: Autocast> Autocast for ModelParallel<D> {
    fn dtype(&self, tensor: &DeviceTensor<D::Tensor>) -> DType {
        self.of(tensor).dtype(&tensor.tensor)
    }

    fn cast(
        &self,
        tensor: &DeviceTensor<D::Tensor>,
        to: DType,
    ) -> Result<DeviceTensor<D::Tensor>, Failed<D>> {
        let device = tensor.device;
        let tensor = self.one(device, |it| it.cast(&tensor.tensor, to))?;
        Ok(DeviceTensor { tensor, device })
    }

    fn version(&self, tensor: &DeviceTensor<D::Tensor>) -> Option<u64> {
        self.of(tensor).version(&tensor.tensor)
    }

    fn extents<'t>(&self, tensor: &'t DeviceTensor<D::Tensor>) -> Option<Cow<'t, [usize]>> {
        self.of(tensor).extents(&tensor.tensor)
    }

    fn elements(&self, tensor: &DeviceTensor<D::Tensor>) -> Option<u64> {
        self.of(tensor).elements(&tensor.tensor)
    }
}

/// Creates tensors on the current device.
impl<D: Upload> Upload for ModelParallel<D> {
    fn upload(
        &self,
        values: &[f32],
        shape: &[usize],
        dtype: DType,
    ) -> Result<DeviceTensor<D::Tensor>, Failed<D>> {
        let device = self.current();
        let tensor = self.one(device, |it| it.upload(values, shape, dtype))?;
        Ok(DeviceTensor { tensor, device })
    }

    fn upload_i64(
        &self,
        values: &[i64],
        shape: &[usize],
    ) -> Result<DeviceTensor<D::Tensor>, Failed<D>> {
        let device = self.current();
        let tensor = self.one(device, |it| it.upload_i64(values, shape))?;
        Ok(DeviceTensor { tensor, device })
    }
}

impl<D: Download> Download for ModelParallel<D> {
    fn download(&self, tensor: &DeviceTensor<D::Tensor>) -> Result<Vec<f32>, Failed<D>> {
        self.one(tensor.device, |it| it.download(&tensor.tensor))
    }
}
