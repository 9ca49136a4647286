//! Conversions between element types: widened exactly, narrowed once.

use super::{Stored, Tensor, slices, stored::Data};
use crate::Error;
use binade_core::{
    DType,
    cast::{
        E4M3, E5M2,
        OnOverflow::{self, NonFinite},
    },
};
use half::{bf16, f16};
use std::borrow::Cow;

impl Tensor {
    /// Returns the elements as f32: exact for every type of at most 32 bits, the nearest f32 for f64 and i64.
    pub fn to_f32(&self) -> Cow<'_, [f32]> {
        Cow::Owned(match &self.data {
            Data::F32(_) => return Cow::Borrowed(self.elements()),
            Data::BF16(_) => slices::widen::<bf16>(self.elements()),
            Data::F16(_) => slices::widen::<f16>(self.elements()),
            Data::E4M3(array) => array.iter().map(|x| x.to_f32()).collect(),
            Data::E5M2(array) => array.iter().map(|x| x.to_f32()).collect(),
            #[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
            Data::F64(array) => array.iter().map(|x| *x as f32).collect(),
            #[expect(clippy::cast_precision_loss, reason = "rounding is what is asked for")]
            Data::I64(array) => array.iter().map(|x| *x as f32).collect(),
            Data::U8(array) => array.iter().map(|x| f32::from(*x)).collect(),
        })
    }

    /// Creates a tensor of `values`, rounded once to `dtype`, to nearest even. Values beyond the format's largest become
    /// infinite, or NaN in E4M3, so that no overflow hides.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] if they are not as many as `shape` says; [`Error::Unsupported`] for types that are not
    /// floating-point.
    pub fn from_f32(values: Vec<f32>, shape: &[usize], dtype: DType) -> Result<Self, Error> {
        match dtype {
            DType::BF16 => Self::new(slices::narrow::<bf16>(&values), shape),
            DType::F16 => Self::new(slices::narrow::<f16>(&values), shape),
            DType::F32 => Self::new(values, shape),
            DType::F64 => Self::new(values.into_iter().map(f64::from).collect(), shape),
            DType::E4M3 => Self::new(narrow8(&values, E4M3::from_f32), shape),
            DType::E5M2 => Self::new(narrow8(&values, E5M2::from_f32), shape),
            _ => Err(Error::Unsupported { what: "round to", dtype }),
        }
    }

    /// Returns a copy with another element type, rounded once, to nearest even; the tensor itself if it has that type.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for integers, and between f64 and anything but f32: the detour would round twice.
    pub fn cast(&self, to: DType) -> Result<Self, Error> {
        let from = self.dtype();
        if to == from {
            return Ok(self.clone());
        }
        let floats = from.is_castable() && to.is_castable();
        let doubles = [from, to].contains(&DType::F64) && [from, to].contains(&DType::F32);
        match (from, to) {
            _ if floats || doubles => Self::from_f32(self.to_f32().into_owned(), self.shape(), to),
            (DType::F64, _) => Err(Error::Unsupported { what: "cast f64 straight to", dtype: to }),
            _ if to.is_castable() => Err(Error::Unsupported { what: "cast", dtype: from }),
            _ => Err(Error::Unsupported { what: "cast to", dtype: to }),
        }
    }

    /// Returns the elements, whose type the caller has matched on.
    fn elements<E: Stored>(&self) -> &[E] {
        self.as_slice().expect("the caller matched on the type")
    }
}

fn narrow8<E>(values: &[f32], round: fn(f32, OnOverflow) -> E) -> Vec<E> {
    values.iter().map(|x| round(*x, NonFinite)).collect()
}
