//! The contract of a device: where scales and findings live, unscaling, clipping and sums; and the handles that have it here.

mod clip_groups;
mod device;
mod loss;
mod native;
mod ops;
mod peers;
mod store;

pub use clip_groups::ClipGroup;
pub use device::GradScaler;
pub use loss::Loss;
pub use ops::{GradOps, Norm};
pub use peers::PeerDevice;
pub use store::ScaleStore;
