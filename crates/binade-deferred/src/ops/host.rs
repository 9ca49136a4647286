//! Tensors from host values, and back to them.

use crate::{Deferred, Error, Tensor};
use binade_core::DType;
use binade_cpu::Cpu;
use binade_ops::{Download, Upload};

/// Uploads. Values are copied before the call returns, and so they are there at once.
impl Upload for Deferred {
    fn upload(&self, values: &[f32], shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        Ok(Cpu.upload(values, shape, dtype)?.into())
    }

    fn upload_i64(&self, values: &[i64], shape: &[usize]) -> Result<Tensor, Error> {
        Ok(Cpu.upload_i64(values, shape)?.into())
    }
}

impl Download for Deferred {
    fn download(&self, tensor: &Tensor) -> Result<Vec<f32>, Error> {
        self.look("download")?;
        Ok(Cpu.download(tensor.value().get()?)?)
    }
}
