//! Subjects of the conformance kit, a file for each of Binade's devices.

mod cpu;
mod cuda;
#[cfg(feature = "wgpu")]
mod wgpu;

pub use cpu::Cpu;
pub use cuda::{Cuda, OpenError};
#[cfg(feature = "wgpu")]
pub use wgpu::Wgpu;

use binade_conformance::SubjectError;

/// Name of the kit's cases of strided views.
pub(crate) const STRIDED_VIEWS: &str = "views_are_read_in_row_major_order";

/// Returns the refusal of a strided view, which no tensor of Binade's devices can be.
fn no_strides() -> SubjectError {
    SubjectError::unsupported("a tensor with strides")
}
