//! Tensors from host values, and host values from tensors.

use crate::{Driver, Error, Gpu, Result, Tensor};
use binade_core::ops::{Download, Upload, shape};
use binade_core::{DType, RawTensor};
use bytemuck::Pod;

/// Checks that `found` values of `each` bytes are as many as `shape` takes.
///
/// # Errors
///
/// [`Error::Length`].
pub fn check_length<D: Driver>(
    what: &'static str,
    found: usize,
    shape: &[usize],
    each: usize,
) -> Result<(), D> {
    let expected = shape::size(shape, each).unwrap_or(usize::MAX);
    if found == expected {
        return Ok(());
    }
    Err(Error::Length { what, found, shape: shape.to_vec(), expected })
}

impl<D: Driver> Tensor<D> {
    /// Returns a tensor of `device` from its elements, which are of `dtype`.
    fn from_elements<T: Pod>(
        device: &D,
        values: &[T],
        dtype: DType,
        shape: &[usize],
    ) -> Result<Self, D> {
        check_length::<D>("elements", values.len(), shape, 1)?;
        device.tensor_of(bytemuck::cast_slice(values), dtype, shape)
    }

    /// Returns a tensor of `device` from `f32` values, rounded once to `dtype`.
    pub(crate) fn upload(
        device: &D,
        values: &[f32],
        shape: &[usize],
        dtype: DType,
    ) -> Result<Self, D> {
        device.cast(&Self::from_elements(device, values, DType::F32, shape)?, dtype)
    }

    /// Waits for the device and returns the elements as `f32`.
    pub(crate) fn download(&self, device: &D) -> Result<Vec<f32>, D> {
        let bytes = device.bits_of(&device.cast(self, DType::F32)?)?;
        let (elements, _) = bytes.as_chunks();
        Ok(elements.iter().map(|bits| f32::from_le_bytes(*bits)).collect())
    }

    /// Waits for the device and returns the elements as a file has them.
    pub(crate) fn to_raw(&self, device: &D) -> Result<RawTensor, D> {
        let bytes = device.bits_of(self)?;
        let (found, shape, expected) = (bytes.len(), self.shape().to_vec(), self.bytes());
        let short = Error::Length { what: "bytes", found, shape, expected };
        RawTensor::new(self.spec(), bytes).ok_or(short)
    }
}

impl<D: Driver> Upload for Gpu<'_, D> {
    fn upload(&self, values: &[f32], shape: &[usize], dtype: DType) -> Result<Tensor<D>, D> {
        Tensor::upload(self.0, values, shape, dtype)
    }

    fn upload_i64(&self, values: &[i64], shape: &[usize]) -> Result<Tensor<D>, D> {
        Tensor::from_elements(self.0, values, DType::I64, shape)
    }
}

impl<D: Driver> Download for Gpu<'_, D> {
    fn download(&self, tensor: &Tensor<D>) -> Result<Vec<f32>, D> {
        tensor.download(self.0)
    }
}
