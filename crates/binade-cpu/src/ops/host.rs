//! Uploads of host values, and downloads.

use crate::{Cpu, Error, Tensor};
use binade_core::DType;
use binade_ops::{Download, Upload};

impl Upload for Cpu {
    fn upload(&self, values: &[f32], shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        Tensor::from_f32(values.to_vec(), shape, dtype)
    }

    fn upload_i64(&self, values: &[i64], shape: &[usize]) -> Result<Tensor, Error> {
        Tensor::new(values.to_vec(), shape)
    }
}

impl Download for Cpu {
    fn download(&self, tensor: &Tensor) -> Result<Vec<f32>, Error> {
        Ok(tensor.to_f32().into_owned())
    }
}
