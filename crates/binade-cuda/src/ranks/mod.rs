//! A device as one of several ranks that NCCL connects: gradients averaged among them, one verdict, one scale. The host reads nothing of it
//! in a step.

mod average;
mod device;
mod grad_scaler;
mod gradients;
mod master_weights;
mod meeting;
mod scale_store;
mod tensors;

pub use device::CudaRank;
pub use gradients::RankGradients;
