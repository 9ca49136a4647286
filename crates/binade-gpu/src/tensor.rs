//! Tensors in device memory.

use crate::{Addressed, BufferOf, Driver, Error, Result};
use binade_core::ops::shape::element_count;
use binade_core::{DType, TensorSpec};
use std::{fmt, ops::Range, sync::Arc};

/// A tensor in device memory: row-major, cheap to clone, copied when a shared one is written to. Halves lie two in a word.
#[derive(Clone)]
pub struct Tensor<D: Driver> {
    pub(crate) buffer: Arc<BufferOf<D>>,
    /// Offset of the first element in bytes from the buffer's start; any multiple of an element's size.
    offset: usize,
    dtype: DType,
    shape: Arc<[usize]>,
}

impl<D: Driver> Tensor<D> {
    /// Returns a tensor that fills a buffer.
    pub fn filling(buffer: BufferOf<D>, dtype: DType, shape: &[usize]) -> Self {
        Self::within(Arc::new(buffer), 0, dtype, shape)
    }

    /// Returns a tensor that begins `offset` bytes into a buffer, which others may share.
    pub fn within(buffer: Arc<BufferOf<D>>, offset: usize, dtype: DType, shape: &[usize]) -> Self {
        Self { buffer, offset, dtype, shape: shape.into() }
    }

    /// Returns the element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the extent of each axis, slowest first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the element type and shape.
    pub(crate) fn spec(&self) -> TensorSpec {
        TensorSpec::new(self.dtype, &*self.shape)
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        element_count(&self.shape)
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns `len` elements from `start` on, as a vector that shares this tensor's memory.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where there are not as many.
    pub fn slice(&self, start: usize, len: usize) -> Result<Self, D> {
        if start.checked_add(len).is_none_or(|end| end > self.len()) {
            let (found, shape) = (self.len(), vec![len]);
            let expected = start.saturating_add(len);
            return Err(Error::Length { what: "elements", found, shape, expected });
        }
        let offset = self.offset + start * self.dtype.bytes();
        Ok(Self { offset, shape: [len].into(), ..self.clone() })
    }

    /// Returns the same elements under another shape.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] where the number of elements would change.
    pub fn reshape(&self, shape: &[usize]) -> Result<Self, D> {
        let call = binade_core::ops::OpInvocation::Reshape { shape: shape.to_vec() };
        let shape = call.check(&[(self.dtype, &self.shape)])?.shape;
        Ok(Self { shape: shape.into(), ..self.clone() })
    }

    /// Returns the bytes of its elements.
    pub fn bytes(&self) -> usize {
        self.len() * self.dtype.bytes()
    }

    /// Returns the tensor's buffer.
    pub fn buffer(&self) -> &BufferOf<D> {
        &self.buffer
    }

    /// Returns the range of the elements in the buffer, in bytes.
    pub fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.bytes()
    }
}

impl<D: Driver<Memory: Addressed>> Tensor<D> {
    /// Returns the device address of the first element.
    pub fn address(&self) -> u64 {
        self.buffer.address() + self.offset as u64
    }
}

/// Tensor as the rows of its last axis.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// Number of rows.
    pub count: usize,
    /// Elements of a row.
    pub width: usize,
}

impl Rows {
    /// Describes a tensor; a scalar is one row of one element.
    pub fn of<D: Driver>(tensor: &Tensor<D>) -> Self {
        let (width, lead) =
            tensor.shape().split_last().map_or((1, &[][..]), |(w, lead)| (*w, lead));
        Self { count: lead.iter().product(), width }
    }
}

impl<D: Driver> fmt::Debug for Tensor<D> {
    /// Writes the type and shape: printing must not read the device.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({} {:?}, {})", self.dtype(), self.shape(), D::NAME)
    }
}
