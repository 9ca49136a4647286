//! Tensors that are computed later.

use crate::late::Late;
use binade_core::DType;
use std::fmt;

/// Tensor whose shape and element type are known now and whose elements are computed later. Cheap to clone.
#[derive(Clone)]
pub struct Tensor {
    like: Like,
    value: Late<binade_cpu::Tensor>,
}

/// Shape and element type of a tensor, which are known at once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Like {
    pub(crate) shape: Vec<usize>,
    pub(crate) dtype: DType,
}

impl Tensor {
    pub(crate) fn later(like: Like) -> Self {
        Self { like, value: Late::empty() }
    }

    /// Returns the element type.
    pub fn dtype(&self) -> DType {
        self.like.dtype
    }

    /// Returns the extent of each axis, slowest first.
    pub fn shape(&self) -> &[usize] {
        &self.like.shape
    }

    pub(crate) fn like(&self) -> Like {
        self.like.clone()
    }

    pub(crate) fn value(&self) -> &Late<binade_cpu::Tensor> {
        &self.value
    }
}

/// Tensor that is computed already: an upload without a device.
impl From<binade_cpu::Tensor> for Tensor {
    fn from(tensor: binade_cpu::Tensor) -> Self {
        let like = Like { shape: tensor.shape().to_vec(), dtype: tensor.dtype() };
        Self { like, value: Late::known(tensor) }
    }
}

impl fmt::Debug for Tensor {
    /// Prints the type and shape, since printing must not read the device.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({} {:?}, later)", self.dtype(), self.shape())
    }
}
