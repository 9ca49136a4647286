//! Tensors out of host values, and host values out of tensors.

use crate::{Error, Tensor, Wgpu};
use binade_autocast::Autocast;
use binade_core::DType;
use binade_ops::{Download, Shaped, Upload, shape};

/// Elements of one tensor that shaders count: their places have 32 bits.
const MOST_ELEMENTS: usize = u32::MAX as usize;

impl Wgpu {
    /// A tensor from the little-endian bytes of its elements.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where they are not as many as `shape` says; [`Error::TooLarge`] for 2^32 elements and more.
    pub fn from_bits(&self, bytes: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor, Error> {
        fits("bytes", bytes.len(), shape, dtype.bytes())?;
        size(dtype, shape, self.facts().most_buffer_bytes)?;
        Ok(Tensor::filling(self.buffer_of(bytes)?, dtype, shape))
    }

    /// The little-endian bytes of a tensor's elements, in row-major order. Waits for the device.
    ///
    /// # Errors
    ///
    /// When the device fails; [`Error::Index`] where an operation met an index that points nowhere.
    pub fn to_bits(&self, tensor: &Tensor) -> Result<Vec<u8>, Error> {
        self.has_made(tensor.buffer())?;
        if tensor.is_empty() {
            self.inner.health.check()?;
            return Ok(Vec::new());
        }
        let sent = self.send(tensor.buffer(), tensor.range())?;
        let noted = self.send_faults()?;
        self.ask(&sent)?;
        self.report_fault(noted.as_ref())?;
        self.receive(&sent)
    }

    /// A tensor whose elements are unset.
    pub(crate) fn unset(&self, dtype: DType, shape: &[usize]) -> Result<Tensor, Error> {
        let bytes = size(dtype, shape, self.facts().most_buffer_bytes)?;
        Ok(Tensor::filling(self.buffer(bytes)?, dtype, shape))
    }
}

/// Bytes of a tensor, which is none beyond `most` bytes or what shaders count.
fn size(dtype: DType, shape: &[usize], most: u64) -> Result<usize, Error> {
    let most_counted = MOST_ELEMENTS.saturating_mul(dtype.bytes());
    let bytes = shape::size(shape, dtype.bytes()).unwrap_or(usize::MAX);
    let most = most.min(most_counted as u64);
    if bytes as u64 > most { Err(Error::TooLarge { bytes, most }) } else { Ok(bytes) }
}

fn fits(what: &'static str, found: usize, shape: &[usize], each: usize) -> Result<(), Error> {
    let expected = shape::size(shape, each).unwrap_or(usize::MAX);
    if found == expected {
        return Ok(());
    }
    Err(Error::Length { what, found, shape: shape.to_vec(), expected })
}

impl Upload for Wgpu {
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

impl Download for Wgpu {
    fn download(&self, tensor: &Tensor) -> Result<Vec<f32>, Error> {
        let wide = self.cast(tensor, DType::F32)?;
        let bytes = self.to_bits(&wide)?;
        let (elements, _) = bytes.as_chunks();
        Ok(elements.iter().map(|bits| f32::from_le_bytes(*bits)).collect())
    }
}

impl Shaped for Wgpu {
    fn shape(&self, tensor: &Tensor) -> Vec<usize> {
        tensor.shape().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_has_no_more_elements_than_shaders_count_and_no_more_bytes_than_a_buffer() {
        let most = u32::MAX as usize;
        let of = |dtype, shape: &[usize], most| size(dtype, shape, most).ok();
        assert_eq!(of(DType::BF16, &[most], u64::MAX), Some(2 * most));
        assert_eq!(of(DType::BF16, &[1 << 16, 1 << 16], u64::MAX), None);
        assert_eq!(of(DType::F32, &[2, 3], 24), Some(24));
        assert_eq!(of(DType::F32, &[2, 3], 23), None);
        assert_eq!(of(DType::F32, &[1 << 33, 1 << 31], u64::MAX), None, "nothing wraps");
        assert_eq!(of(DType::F32, &[0, 3], u64::MAX), Some(0));
    }
}
