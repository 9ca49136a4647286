//! Tensor as it was before Binade: a shape, and elements of three types that cast to each other.

use binade::core::DType;
use half::{bf16, f16};

/// Tensor of this example's own.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Mine {
    /// Extents; two for a matrix, rows first.
    pub shape: Vec<usize>,
    /// Elements, row after row.
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

/// Error for an element type that no tensor has.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("elements are bf16, f16 or f32, and not {0}: take one of these")]
pub struct NoSuchType(pub DType);

impl Elements {
    /// Returns `values`, each rounded once to `dtype`.
    ///
    /// # Errors
    ///
    /// If `dtype` is none of the three.
    pub fn of(dtype: DType, values: impl Iterator<Item = f32>) -> Result<Self, NoSuchType> {
        match dtype {
            DType::BF16 => Ok(Self::BF16(values.map(bf16::from_f32).collect())),
            DType::F16 => Ok(Self::F16(values.map(f16::from_f32).collect())),
            DType::F32 => Ok(Self::F32(values.collect())),
            other => Err(NoSuchType(other)),
        }
    }

    /// Returns `values`, each rounded once to the type of these elements.
    #[must_use]
    pub fn like(&self, values: impl Iterator<Item = f32>) -> Self {
        match self {
            Self::BF16(_) => Self::BF16(values.map(bf16::from_f32).collect()),
            Self::F16(_) => Self::F16(values.map(f16::from_f32).collect()),
            Self::F32(_) => Self::F32(values.collect()),
        }
    }

    /// Returns the values in `f32`.
    pub fn to_f32(&self) -> Vec<f32> {
        match self {
            Self::BF16(elements) => elements.iter().map(|x| x.to_f32()).collect(),
            Self::F16(elements) => elements.iter().map(|x| x.to_f32()).collect(),
            Self::F32(elements) => elements.clone(),
        }
    }
}

impl Mine {
    /// Creates a tensor in `f32`.
    pub fn new(values: impl IntoIterator<Item = f32>, shape: &[usize]) -> Self {
        let elements = Elements::F32(values.into_iter().collect());
        Self { shape: shape.to_vec(), elements }
    }

    /// Creates a scalar in `f32`.
    pub fn scalar(value: f32) -> Self {
        Self::new([value], &[1])
    }

    /// Returns the elements in `f32`.
    pub fn to_f32(&self) -> Vec<f32> {
        self.elements.to_f32()
    }
}
