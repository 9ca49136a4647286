//! The extents of a tensor.

use crate::shape;
use binade_core::Handle;

/// Knows what shape a tensor has.
///
/// # For implementers
///
/// * Host knowledge: asking never waits for the device.
/// * A scalar has the empty shape and one element.
pub trait Shaped: Handle {
    /// The extent of each axis, slowest first.
    fn shape(&self, tensor: &Self::Tensor) -> Vec<usize>;

    /// How many elements there are.
    fn element_count(&self, tensor: &Self::Tensor) -> usize {
        shape::element_count(&self.shape(tensor))
    }
}
