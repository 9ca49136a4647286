//! A tensor in device memory.

use crate::{
    Error, Wgpu,
    memory::{Buffer, is_alone},
};
use binade_core::DType;
use binade_ops::shape::element_count;
use std::{fmt, ops::Range, sync::Arc};

/// A tensor in device memory: row-major, cheap to clone, copied when a shared one is written to. Halves lie two in a word.
#[derive(Clone)]
pub struct Tensor {
    buffer: Arc<Buffer>,
    /// Where its first element is, in bytes from the buffer's start; any multiple of an element's size.
    offset: usize,
    dtype: DType,
    shape: Arc<[usize]>,
}

impl Tensor {
    /// A tensor that fills a buffer.
    pub(crate) fn filling(buffer: Buffer, dtype: DType, shape: &[usize]) -> Self {
        Self { buffer: Arc::new(buffer), offset: 0, dtype, shape: shape.into() }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extent of each axis, slowest first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        element_count(&self.shape)
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `len` elements from `start` on, as a vector that shares this tensor's memory.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where there are not as many.
    pub fn slice(&self, start: usize, len: usize) -> Result<Self, Error> {
        if start.checked_add(len).is_none_or(|end| end > self.len()) {
            let (found, shape) = (self.len(), vec![len]);
            let expected = start.saturating_add(len);
            return Err(Error::Length { what: "elements", found, shape, expected });
        }
        let offset = self.offset + start * self.dtype.bytes();
        Ok(Self { offset, shape: [len].into(), ..self.clone() })
    }

    /// The same elements under another shape.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] where the number of elements would change.
    pub fn reshape(&self, shape: &[usize]) -> Result<Self, Error> {
        let shape = binade_ops::shape::reshape(&self.shape, shape)?;
        Ok(Self { shape: shape.into(), ..self.clone() })
    }

    /// Makes sure that nobody else sees what is written to it: copies its elements where the memory is shared.
    pub(crate) fn own(&mut self, wgpu: &Wgpu) -> Result<(), Error> {
        wgpu.has_made(&self.buffer)?;
        if !is_alone(&self.buffer) {
            *self = wgpu.copied(self)?;
        }
        Ok(())
    }

    /// Bytes of its elements.
    pub(crate) fn bytes(&self) -> usize {
        self.len() * self.dtype.bytes()
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Where its elements are in the buffer, in bytes.
    pub(crate) fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.bytes()
    }
}

impl fmt::Debug for Tensor {
    /// The type and shape: printing must not read the device.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({} {:?}, wgpu)", self.dtype(), self.shape())
    }
}
