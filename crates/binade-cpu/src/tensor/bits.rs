//! Elements as bytes, exact for every type.

use super::{Stored, Tensor, elements::Data};
use crate::Error;
use binade_core::ops::shape::size;
use binade_core::{
    DType,
    cast::{E4M3, E5M2},
};
use half::{bf16, f16};

impl Tensor {
    /// Creates a tensor from the little-endian bytes of its elements, as safetensors has them.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] if their number does not match `shape`; [`Error::Unsupported`] for `i32` and `bool`.
    pub fn from_bits(bytes: &[u8], dtype: DType, shape: &[usize]) -> Result<Self, Error> {
        let expected = size(shape, dtype.bytes()).unwrap_or(usize::MAX);
        if bytes.len() != expected {
            let (found, shape) = (bytes.len(), shape.to_vec());
            return Err(Error::Length { what: "bytes", found, shape, expected });
        }
        match dtype {
            DType::BF16 => decode(bytes, shape, bf16::from_le_bytes),
            DType::F16 => decode(bytes, shape, f16::from_le_bytes),
            DType::F32 => decode(bytes, shape, f32::from_le_bytes),
            DType::F64 => decode(bytes, shape, f64::from_le_bytes),
            DType::E4M3 => decode(bytes, shape, |[bits]| E4M3::from_bits(bits)),
            DType::E5M2 => decode(bytes, shape, |[bits]| E5M2::from_bits(bits)),
            DType::I64 => decode(bytes, shape, i64::from_le_bytes),
            DType::U8 => decode(bytes, shape, u8::from_le_bytes),
            _ => Err(Error::Unsupported { what: "store", dtype }),
        }
    }

    /// Returns the little-endian bytes of the elements, in row-major order.
    pub fn to_bits(&self) -> Vec<u8> {
        match &self.data {
            Data::BF16(array) => array.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Data::F16(array) => array.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Data::F32(array) => array.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Data::F64(array) => array.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Data::E4M3(array) => array.iter().map(|x| x.to_bits()).collect(),
            Data::E5M2(array) => array.iter().map(|x| x.to_bits()).collect(),
            Data::I64(array) => array.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Data::U8(array) => array.iter().copied().collect(),
        }
    }
}

/// Reads `bytes`, a whole number of elements, `N` bytes each.
fn decode<E: Stored, const N: usize>(
    bytes: &[u8],
    shape: &[usize],
    element: fn([u8; N]) -> E,
) -> Result<Tensor, Error> {
    let (chunks, _) = bytes.as_chunks::<N>();
    Tensor::new(chunks.iter().map(|chunk| element(*chunk)).collect(), shape)
}
