//! Shapes, uploads and downloads, as training on several ranks needs them.

use crate::elements::Elements;
use crate::{Candle, Error, candle_dtype, read::read};
use binade_core::DType;
use binade_core::ops::{Download, Shaped, Upload};
use candle_core::{Device, Tensor};

impl Shaped for Candle {
    fn shape(&self, tensor: &Tensor) -> Vec<usize> {
        tensor.dims().to_vec()
    }
}

/// Makes tensors on the CPU; a step moves a gradient to its parameter's device.
impl Upload for Candle {
    fn upload(&self, values: &[f32], shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        let wide = Tensor::from_slice(values, shape, &Device::Cpu)?;
        Ok(wide.to_dtype(candle_dtype(dtype)?)?)
    }

    fn upload_i64(&self, values: &[i64], shape: &[usize]) -> Result<Tensor, Error> {
        Ok(Tensor::from_slice(values, shape, &Device::Cpu)?)
    }

    /// Sets a `Var` in place, so that layers that hold it see the values. Any other place becomes a new tensor on its device.
    fn upload_to(
        &self,
        place: &mut Tensor,
        values: &[f32],
        shape: &[usize],
        dtype: DType,
    ) -> Result<(), Error> {
        Elements::new(dtype, values.to_vec(), (shape.into(), place.device().clone())).put(place)
    }
}

impl Download for Candle {
    fn download(&self, tensor: &Tensor) -> Result<Vec<f32>, Error> {
        Ok(read(&tensor.detach().to_dtype(candle_core::DType::F32)?)?)
    }
}
