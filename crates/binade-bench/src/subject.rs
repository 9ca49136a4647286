//! Binade's devices as the kit's subjects, a file each.

mod cpu;
mod cuda;
mod deferred;
#[cfg(feature = "wgpu")]
mod wgpu;

pub use cpu::Cpu;
pub use cuda::{Cuda, OpenError};
pub use deferred::Deferred;
#[cfg(feature = "wgpu")]
pub use wgpu::Wgpu;

use binade_conformance::Refusal;

/// The cases of views that do not lie one element after the other.
pub(crate) const STRIDED_VIEWS: &str = "views_are_read_in_row_major_order";

/// A view that no tensor of Binade's devices can be.
fn no_strides() -> Refusal {
    Refusal::unsupported("a tensor with strides")
}
