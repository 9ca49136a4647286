//! Several devices as one: a replica of the model on each, gradients averaged among them, one verdict, one scale.

mod autocast;
mod average;
mod exchange;
mod grad_scaler;
mod gradients;
mod handle;
mod host;
mod master_weights;
mod ops;
mod parts;
mod save;
mod scale_store;

pub use gradients::JointGradients;
pub use handle::Replicas;
pub use parts::Parts;
