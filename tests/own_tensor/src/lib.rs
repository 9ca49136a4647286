//! A tensor that keeps bytes and their type, and what Binade asks of it.

#![forbid(unsafe_code)]

use binade_core::{AmpTensor, DType, Element, Error, ErrorKind};
use half::{bf16, f16};
use std::fmt;

/// Elements as little-endian bytes, row after row.
#[derive(Clone, Debug, PartialEq)]
pub struct Bytes {
    /// The type of the elements.
    pub dtype: DType,
    /// The elements.
    pub bytes: Vec<u8>,
}

/// There are no such elements.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NoSuchElements(pub DType);

impl fmt::Display for NoSuchElements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytes are of bf16, f16 or f32, and not of {}: take one of these", self.0)
    }
}

impl std::error::Error for NoSuchElements {}

impl Error for NoSuchElements {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Unsupported
    }
}

impl Bytes {
    /// `values`, each rounded once to `dtype`.
    ///
    /// # Errors
    ///
    /// For a type that there are no elements of.
    pub fn of(dtype: DType, values: &[f32]) -> Result<Self, NoSuchElements> {
        let bytes = match dtype {
            DType::BF16 => encoded::<bf16>(values),
            DType::F16 => encoded::<f16>(values),
            DType::F32 => encoded::<f32>(values),
            other => return Err(NoSuchElements(other)),
        };
        Ok(Self { dtype, bytes })
    }

    /// The elements in `f32`.
    pub fn values(&self) -> Vec<f32> {
        match self.dtype {
            DType::BF16 => decoded::<bf16>(&self.bytes),
            DType::F16 => decoded::<f16>(&self.bytes),
            _ => decoded::<f32>(&self.bytes),
        }
    }
}

fn encoded<E: Element>(values: &[f32]) -> Vec<u8> {
    let codes = values.iter().map(|x| E::from_f32(*x).to_code().to_le_bytes());
    codes.flat_map(|code| code.into_iter().take(E::DTYPE.bytes())).collect()
}

fn decoded<E: Element>(bytes: &[u8]) -> Vec<f32> {
    let codes = bytes
        .chunks(E::DTYPE.bytes())
        .map(|bytes| bytes.iter().rev().fold(0, |code, byte| code << 8 | u32::from(*byte)));
    codes.map(|code| E::from_code(code).to_f32()).collect()
}

impl AmpTensor for Bytes {
    type Error = NoSuchElements;

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn cast(&self, to: DType) -> Result<Self, NoSuchElements> {
        Self::of(to, &self.values())
    }

    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        let mapped: Vec<f32> =
            self.values().into_iter().enumerate().map(|(i, x)| f(i, x)).collect();
        if let Ok(mapped) = Self::of(self.dtype, &mapped) {
            *self = mapped;
        }
    }
}
