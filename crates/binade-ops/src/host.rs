//! From the host to the device, and back.

use binade_core::{DType, Handle};

/// Makes tensors out of host values.
///
/// # For implementers
///
/// * Values are in row-major order and are copied before the call returns.
/// * A floating-point value is rounded once, to nearest even; beyond the format's range it becomes infinite.
pub trait Upload: Handle {
    /// A floating-point tensor.
    ///
    /// # Errors
    ///
    /// `Mismatch` where `values` are not as many as `shape` says; `Unsupported` for a type the device cannot store.
    fn upload(
        &self,
        values: &[f32],
        shape: &[usize],
        dtype: DType,
    ) -> Result<Self::Tensor, Self::Error>;

    /// A tensor of [`DType::I64`]: labels, indices, dropout keys.
    ///
    /// # Errors
    ///
    /// `Mismatch` where `values` are not as many as `shape` says.
    fn upload_i64(&self, values: &[i64], shape: &[usize]) -> Result<Self::Tensor, Self::Error>;
}

/// Reads tensors on the host: the one trait of this crate that does.
///
/// # For implementers
///
/// * Waits until what was asked for is computed. On a GPU this is a synchronisation.
/// * Widens exactly; `f64` and `i64` are rounded to the nearest `f32`.
pub trait Download: Handle {
    /// The elements in row-major order.
    ///
    /// # Errors
    ///
    /// When the device fails, or refuses to be read.
    fn download(&self, tensor: &Self::Tensor) -> Result<Vec<f32>, Self::Error>;
}
