//! Extents of a tensor.

use crate::Handle;
use crate::ops::shape;

/// Device that knows the shapes of its tensors.
///
/// # For implementers
///
/// * Host knowledge: asking never waits for the device.
/// * A scalar has the empty shape and one element.
pub trait Shaped: Handle {
    /// Returns the extent of each axis, slowest first.
    fn shape(&self, tensor: &Self::Tensor) -> Vec<usize>;

    /// Returns the number of elements.
    fn element_count(&self, tensor: &Self::Tensor) -> usize {
        shape::element_count(&self.shape(tensor))
    }
}
