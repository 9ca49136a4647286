//! Uploads from the host to the device, and downloads.

use crate::{DType, Handle};

/// Creation of tensors from host values.
///
/// # For implementers
///
/// * Values are in row-major order and are copied before the call returns.
/// * A floating-point value is rounded once, to nearest even; beyond the format's range it becomes infinite.
pub trait Upload: Handle {
    /// Creates a floating-point tensor.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `values` are not as many as `shape` says; `Unsupported` for a type the device cannot store.
    fn upload(
        &self,
        values: &[f32],
        shape: &[usize],
        dtype: DType,
    ) -> Result<Self::Tensor, Self::Error>;

    /// Creates a tensor of [`DType::I64`]: labels, indices, dropout keys.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `values` are not as many as `shape` says.
    fn upload_i64(&self, values: &[i64], shape: &[usize]) -> Result<Self::Tensor, Self::Error>;

    /// Puts values in the place of a floating-point tensor of this shape and type. The provided method makes a new tensor. If the device's tensors
    /// can be shared variables, this sets the variable.
    ///
    /// # Errors
    ///
    /// The errors of [`upload`](Self::upload).
    fn upload_to(
        &self,
        place: &mut Self::Tensor,
        values: &[f32],
        shape: &[usize],
        dtype: DType,
    ) -> Result<(), Self::Error> {
        *place = self.upload(values, shape, dtype)?;
        Ok(())
    }
}

/// Reading of tensors on the host; no other trait of this crate reads.
///
/// # For implementers
///
/// * Waits until what was asked for is computed. On a GPU this is a synchronisation.
/// * Widens exactly; `f64` and `i64` are rounded to the nearest `f32`.
pub trait Download: Handle {
    /// Returns the elements in row-major order.
    ///
    /// # Errors
    ///
    /// If the device fails, or refuses to be read.
    fn download(&self, tensor: &Self::Tensor) -> Result<Vec<f32>, Self::Error>;
}
