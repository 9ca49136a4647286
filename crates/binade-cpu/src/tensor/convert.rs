//! Between element types: widened exactly, narrowed once.

use super::{Tensor, stored::Data};
use crate::{Error, parallel};
use binade_core::DType;
use half::{bf16, f16, slice::HalfFloatSliceExt};
use std::borrow::Cow;

impl Tensor {
    /// The elements as f32: exact for bf16, f16, f32; the nearest f32 for f64 and i64.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for one-byte types.
    pub fn to_f32(&self) -> Result<Cow<'_, [f32]>, Error> {
        let widened = match &self.data {
            Data::F32(_) => return Ok(Cow::Borrowed(self.as_slice().unwrap_or_default())),
            Data::BF16(_) => map(self.as_slice().unwrap_or_default(), widen_bf16),
            Data::F16(_) => map(self.as_slice().unwrap_or_default(), widen_f16),
            #[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
            Data::F64(array) => array.iter().map(|x| *x as f32).collect(),
            #[expect(clippy::cast_precision_loss, reason = "rounding is what is asked for")]
            Data::I64(array) => array.iter().map(|x| *x as f32).collect(),
            Data::Byte(dtype, _) => {
                return Err(Error::Unsupported { what: "widen", dtype: *dtype });
            }
        };
        Ok(Cow::Owned(widened))
    }

    /// A tensor of `values`, rounded once to `dtype`, to nearest even.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where they are not as many as `shape` says; [`Error::Unsupported`] for types that are not
    /// floating-point.
    pub fn from_f32(values: Vec<f32>, shape: &[usize], dtype: DType) -> Result<Self, Error> {
        match dtype {
            DType::BF16 => Self::new(map(&values, narrow_bf16), shape),
            DType::F16 => Self::new(map(&values, narrow_f16), shape),
            DType::F32 => Self::new(values, shape),
            DType::F64 => Self::new(values.into_iter().map(f64::from).collect(), shape),
            _ => Err(Error::Unsupported { what: "round to", dtype }),
        }
    }

    /// A copy with another element type, rounded once, to nearest even; the tensor itself where it has that type.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] where there is no conversion between the two types.
    pub fn cast(&self, to: DType) -> Result<Self, Error> {
        if to == self.dtype() {
            return Ok(self.clone());
        }
        if let (Data::F64(array), DType::BF16 | DType::F16) = (&self.data, to) {
            // Not by way of f32, which would round twice.
            let values = array.iter();
            return match to {
                DType::BF16 => {
                    Self::new(values.map(|x| bf16::from_f64(*x)).collect(), self.shape())
                }
                _ => Self::new(values.map(|x| f16::from_f64(*x)).collect(), self.shape()),
            };
        }
        Self::from_f32(self.to_f32()?.into_owned(), self.shape(), to)
    }
}

fn widen_bf16(from: &[bf16], to: &mut [f32]) {
    from.convert_to_f32_slice(to);
}

fn widen_f16(from: &[f16], to: &mut [f32]) {
    from.convert_to_f32_slice(to);
}

fn narrow_bf16(from: &[f32], to: &mut [bf16]) {
    to.convert_from_f32_slice(from);
}

fn narrow_f16(from: &[f32], to: &mut [f16]) {
    to.convert_from_f32_slice(from);
}

/// Converts block by block.
fn map<A: Sync, B: Copy + Default + Send>(from: &[A], convert: fn(&[A], &mut [B])) -> Vec<B> {
    let mut to = vec![B::default(); from.len()];
    parallel::blocks(&mut to, |first, block| convert(&from[first..first + block.len()], block));
    to
}
