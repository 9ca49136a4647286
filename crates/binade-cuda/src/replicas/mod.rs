//! Several devices as one: a replica of the model on each, gradients averaged among them, one verdict, one scale.

mod average;
mod exchange;
mod grad_scaler;
mod gradients;
mod handle;
pub(crate) mod layout;
mod master_weights;
mod parts;
mod scale_store;
mod tensors;

#[cfg(feature = "nccl")]
pub(crate) use average::count;
pub use gradients::JointGradients;
pub use handle::Replicas;
pub use parts::Parts;
