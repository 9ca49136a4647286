//! A tensor as it was before Binade: a shape, and elements of three types that turn into each other.

use binade::core::DType;
use half::{bf16, f16};

/// A tensor of this example's own.
#[derive(Clone, Debug, PartialEq)]
pub struct Mine {
    /// The extents; two for a matrix, rows first.
    pub shape: Vec<usize>,
    /// The elements, row after row.
    pub elements: Elements,
}

/// Elements of one type.
#[derive(Clone, Debug, PartialEq)]
pub enum Elements {
    /// bfloat16.
    BF16(Vec<bf16>),
    /// IEEE half precision.
    F16(Vec<f16>),
    /// Single precision.
    F32(Vec<f32>),
}

/// There are no tensors of this type.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("elements are bf16, f16 or f32, and not {0}: take one of these")]
pub struct NoSuchType(pub DType);

impl Elements {
    /// `values`, each rounded once to `dtype`.
    ///
    /// # Errors
    ///
    /// When `dtype` is none of the three.
    pub fn of(dtype: DType, values: impl Iterator<Item = f32>) -> Result<Self, NoSuchType> {
        match dtype {
            DType::BF16 => Ok(Self::BF16(values.map(bf16::from_f32).collect())),
            DType::F16 => Ok(Self::F16(values.map(f16::from_f32).collect())),
            DType::F32 => Ok(Self::F32(values.collect())),
            other => Err(NoSuchType(other)),
        }
    }

    /// The same values in `f32`.
    pub fn to_f32(&self) -> Vec<f32> {
        match self {
            Self::BF16(elements) => elements.iter().map(|x| x.to_f32()).collect(),
            Self::F16(elements) => elements.iter().map(|x| x.to_f32()).collect(),
            Self::F32(elements) => elements.clone(),
        }
    }
}

impl Mine {
    /// A tensor in `f32`.
    pub fn new(values: impl IntoIterator<Item = f32>, shape: &[usize]) -> Self {
        let elements = Elements::F32(values.into_iter().collect());
        Self { shape: shape.to_vec(), elements }
    }

    /// A scalar in `f32`.
    pub fn scalar(value: f32) -> Self {
        Self::new([value], &[1])
    }

    /// The elements in `f32`.
    pub fn to_f32(&self) -> Vec<f32> {
        self.elements.to_f32()
    }
}
