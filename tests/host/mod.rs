//! Host tensor of the tests' own, of any type that it is made with, which tells no shape.

#![allow(dead_code, reason = "each crate's tests use a part of it")]

use binade_core::{AmpTensor, DType, Error, ErrorKind};
use half::{bf16, f16};

/// Values that are always those of `dtype`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Host {
    pub(crate) dtype: DType,
    pub(crate) data: Vec<f32>,
}

#[derive(Debug, thiserror::Error)]
#[error("no elements of type {0}")]
pub(crate) struct NoSuchType(DType);

impl Error for NoSuchType {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Unsupported
    }
}

pub(crate) fn round(dtype: DType, x: f32) -> f32 {
    match dtype {
        DType::BF16 => bf16::from_f32(x).to_f32(),
        DType::F16 => f16::from_f32(x).to_f32(),
        _ => x,
    }
}

impl Host {
    pub(crate) fn new(dtype: DType, data: &[f32]) -> Self {
        Self { dtype, data: data.iter().map(|&x| round(dtype, x)).collect() }
    }

    pub(crate) fn f32(data: &[f32]) -> Self {
        Self::new(DType::F32, data)
    }

    pub(crate) fn bits(&self) -> Vec<u32> {
        self.data.iter().map(|x| x.to_bits()).collect()
    }
}

impl AmpTensor for Host {
    type Error = NoSuchType;

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn cast(&self, to: DType) -> Result<Self, NoSuchType> {
        if [DType::BF16, DType::F16, DType::F32, self.dtype].contains(&to) {
            Ok(Self::new(to, &self.data))
        } else {
            Err(NoSuchType(to))
        }
    }

    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        for (i, x) in self.data.iter_mut().enumerate() {
            *x = round(self.dtype, f(i, *x));
        }
    }
}
