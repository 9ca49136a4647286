//! From the host to the device, and back.

use crate::{Cuda, Error, Tensor};
use binade_autocast::Autocast;
use binade_core::DType;
use binade_ops::{Download, Shaped, Upload, shape};

impl Cuda {
    /// A tensor from the little-endian bytes of its elements.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where they are not as many as `shape` says.
    pub fn from_bits(&self, bytes: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor, Error> {
        fits("bytes", bytes.len(), shape, dtype.bytes())?;
        Ok(Tensor::filling(self.buffer_of(bytes)?, dtype, shape))
    }

    /// The little-endian bytes of a tensor's elements, in row-major order. Waits for the device.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn to_bits(&self, tensor: &Tensor) -> Result<Vec<u8>, Error> {
        self.read_part(tensor.buffer(), tensor.range())
    }

    /// A tensor whose elements are unset.
    pub(crate) fn unset(&self, dtype: DType, shape: &[usize]) -> Result<Tensor, Error> {
        let too_large = || Error::TooLarge { what: "a tensor", sizes: shape.to_vec() };
        let bytes = shape::size(shape, dtype.bytes()).ok_or_else(too_large)?;
        Ok(Tensor::filling(self.buffer(bytes)?, dtype, shape))
    }
}

pub(crate) fn fits(
    what: &'static str,
    found: usize,
    shape: &[usize],
    each: usize,
) -> Result<(), Error> {
    let expected = shape::size(shape, each).unwrap_or(usize::MAX);
    if found == expected {
        return Ok(());
    }
    Err(Error::Length { what, found, shape: shape.to_vec(), expected })
}

impl Upload for Cuda {
    fn upload(&self, values: &[f32], shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        fits("elements", values.len(), shape, 1)?;
        let wide = self.from_bits(bytemuck::cast_slice(values), DType::F32, shape)?;
        if dtype == DType::F32 { Ok(wide) } else { self.cast(&wide, dtype) }
    }

    fn upload_i64(&self, values: &[i64], shape: &[usize]) -> Result<Tensor, Error> {
        fits("elements", values.len(), shape, 1)?;
        self.from_bits(bytemuck::cast_slice(values), DType::I64, shape)
    }
}

impl Download for Cuda {
    fn download(&self, tensor: &Tensor) -> Result<Vec<f32>, Error> {
        let wide = self.cast(tensor, DType::F32)?;
        let bytes = self.to_bits(&wide)?;
        let (elements, _) = bytes.as_chunks();
        Ok(elements.iter().map(|bits| f32::from_le_bytes(*bits)).collect())
    }
}

impl Shaped for Cuda {
    fn shape(&self, tensor: &Tensor) -> Vec<usize> {
        tensor.shape().to_vec()
    }
}
