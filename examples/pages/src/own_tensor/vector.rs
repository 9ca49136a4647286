//! Tensor of the example: an enumeration of vectors that implements [`AmpTensor`].

use binade::prelude::*;
use half::f16;

/// Vector on the host, in f16 or f32.
#[derive(Clone, Debug, PartialEq)]
pub enum Vector {
    /// Elements of sixteen bits.
    F16(Vec<f16>),
    /// Elements of thirty-two bits.
    F32(Vec<f32>),
}

/// Error for an element type that no vector has.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("vectors are f16 or f32, and not {0}")]
pub struct NoSuchVector(DType);

impl binade::core::Error for NoSuchVector {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Unsupported
    }
}

impl Vector {
    /// Returns the elements, widened.
    pub fn to_f32(&self) -> Vec<f32> {
        match self {
            Self::F16(values) => values.iter().map(|x| x.to_f32()).collect(),
            Self::F32(values) => values.clone(),
        }
    }
}

impl AmpTensor for Vector {
    type Error = NoSuchVector;

    fn dtype(&self) -> DType {
        if matches!(self, Self::F16(_)) { DType::F16 } else { DType::F32 }
    }

    fn cast(&self, to: DType) -> std::result::Result<Self, NoSuchVector> {
        match to {
            DType::F16 => Ok(Self::F16(self.to_f32().into_iter().map(f16::from_f32).collect())),
            DType::F32 => Ok(Self::F32(self.to_f32())),
            _ => Err(NoSuchVector(to)),
        }
    }

    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        let mapped = self.to_f32().into_iter().enumerate().map(|(i, x)| f(i, x));
        match self {
            Self::F16(values) => *values = mapped.map(f16::from_f32).collect(),
            Self::F32(values) => *values = mapped.collect(),
        }
    }
}
