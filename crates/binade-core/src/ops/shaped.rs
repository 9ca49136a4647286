//! Extents of a tensor.

use crate::Handle;
use crate::ops::shape;

/// Device that knows the shapes of its tensors.
///
/// # For implementers
///
/// * Host knowledge: asking never waits for the device.
/// * A scalar has the empty shape and one element.
/// * What [`beside`](Self::beside) creates is an operand of one operation with the tensor.
pub trait Shaped: Handle {
    /// Returns the extent of each axis, slowest first.
    fn shape(&self, tensor: &Self::Tensor) -> Vec<usize>;

    /// Returns the number of elements.
    fn element_count(&self, tensor: &Self::Tensor) -> usize {
        shape::element_count(&self.shape(tensor))
    }

    /// Returns the handle that creates tensors on the device of `tensor`; `None`, as provided, where this handle does so anyway. A handle of several
    /// devices returns one.
    fn beside(&self, _tensor: &Self::Tensor) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}
