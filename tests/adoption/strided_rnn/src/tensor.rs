//! A strided view over shared elements: rows and transposes without copies.

use binade::core::Error;
use binade::prelude::*;
use half::{bf16, f16};
use std::sync::Arc;

/// Elements of one of three types.
#[derive(Clone, Debug)]
pub enum Elements {
    /// Of bf16.
    BF16(Vec<bf16>),
    /// Of f16.
    F16(Vec<f16>),
    /// Of f32.
    F32(Vec<f32>),
}

/// A view of two dimensions.
#[derive(Clone, Debug)]
pub struct Strided {
    elements: Arc<Elements>,
    /// Rows and columns.
    pub shape: [usize; 2],
    strides: [usize; 2],
    offset: usize,
}

/// A type that these tensors do not have.
#[derive(Debug)]
pub struct NoSuchType(DType);

impl std::fmt::Display for NoSuchType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "elements are bf16, f16 or f32, and not {}", self.0)
    }
}

impl std::error::Error for NoSuchType {}

impl Error for NoSuchType {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Unsupported
    }
}

impl Strided {
    /// Rows of `f32`, one after the other.
    pub fn new(values: Vec<f32>, shape: [usize; 2]) -> Self {
        Self::of(Elements::F32(values), shape)
    }

    /// Rows, one after the other.
    pub fn of(elements: Elements, shape: [usize; 2]) -> Self {
        Self { elements: Arc::new(elements), shape, strides: [shape[1], 1], offset: 0 }
    }

    /// The element in row `i` and column `j`.
    pub fn at(&self, i: usize, j: usize) -> f32 {
        let place = self.offset + i * self.strides[0] + j * self.strides[1];
        match &*self.elements {
            Elements::BF16(elements) => elements[place].to_f32(),
            Elements::F16(elements) => elements[place].to_f32(),
            Elements::F32(elements) => elements[place],
        }
    }

    /// Rows and columns exchanged, over the same elements.
    pub fn transposed(&self) -> Self {
        let ([rows, columns], [down, right]) = (self.shape, self.strides);
        Self { shape: [columns, rows], strides: [right, down], ..self.clone() }
    }

    /// `count` rows from `first` on, over the same elements.
    pub fn rows(&self, first: usize, count: usize) -> Self {
        let offset = self.offset + first * self.strides[0];
        Self { shape: [count, self.shape[1]], offset, ..self.clone() }
    }

    /// The elements in logical order, row after row, whatever the strides.
    pub fn values(&self) -> Vec<f32> {
        let [rows, columns] = self.shape;
        (0..rows).flat_map(|i| (0..columns).map(move |j| self.at(i, j))).collect()
    }

    /// `values` of this shape, each rounded once to `dtype`.
    ///
    /// # Errors
    ///
    /// For a type that there are no elements of.
    pub fn rounded(values: &[f32], shape: [usize; 2], dtype: DType) -> Result<Self, NoSuchType> {
        let values = values.iter().copied();
        Ok(Self::of(
            match dtype {
                DType::BF16 => Elements::BF16(values.map(bf16::from_f32).collect()),
                DType::F16 => Elements::F16(values.map(f16::from_f32).collect()),
                DType::F32 => Elements::F32(values.collect()),
                other => return Err(NoSuchType(other)),
            },
            shape,
        ))
    }
}

// glue: join
impl AmpTensor for Strided {
    type Error = NoSuchType;
    fn dtype(&self) -> DType {
        match &*self.elements {
            Elements::BF16(_) => DType::BF16,
            Elements::F16(_) => DType::F16,
            Elements::F32(_) => DType::F32,
        }
    }
    fn shape(&self) -> Option<Vec<usize>> {
        Some(self.shape.to_vec())
    }
    fn cast(&self, to: DType) -> Result<Self, NoSuchType> {
        Self::rounded(&self.values(), self.shape, to)
    }
    fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
        let mapped: Vec<_> = self.values().into_iter().enumerate().map(|(i, x)| f(i, x)).collect();
        *self = Self::rounded(&mapped, self.shape, self.dtype()).unwrap_or_else(|_| self.clone());
    }
}
// end of glue
