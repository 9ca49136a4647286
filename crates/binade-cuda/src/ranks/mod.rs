//! A device as one of several ranks: gradients averaged among them, one verdict, one scale. The host reads nothing of it in a step.

mod average;
mod communicator;
mod device;
mod grad_scaler;
mod gradients;
mod layout;
mod master_weights;
mod meeting;
mod model;
mod peers;
mod scale_store;
mod tensors;

pub use communicator::Communicator;
#[cfg(feature = "nccl")]
pub(crate) use communicator::{Engine, Move, timed_out};
pub use device::CudaRank;
pub use gradients::RankGradients;

/// Returns a number of ranks, or of parameters, as kernels take it.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
