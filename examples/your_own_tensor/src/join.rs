//! Implementation of Binade's contract by the tensor: three methods, one more for ranks, and an error with its kind. Count the lines.

use crate::tensor::{Elements, Mine, NoSuchType};
use binade::core::{AmpTensor, DType, Error, ErrorKind};

impl AmpTensor for Mine {
    type Error = NoSuchType;

    fn dtype(&self) -> DType {
        match self.elements {
            Elements::BF16(_) => DType::BF16,
            Elements::F16(_) => DType::F16,
            Elements::F32(_) => DType::F32,
        }
    }

    fn cast(&self, to: DType) -> Result<Self, NoSuchType> {
        let elements = Elements::of(to, self.to_f32().into_iter())?;
        Ok(Self { shape: self.shape.clone(), elements })
    }

    fn from_f32(values: &[f32], shape: &[usize]) -> Option<Self> {
        Some(Self::new(values.iter().copied(), shape))
    }

    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        let mapped = self.to_f32().into_iter().enumerate().map(|(i, x)| f(i, x));
        self.elements = self.elements.like(mapped);
    }
}

impl Error for NoSuchType {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Unsupported
    }
}
