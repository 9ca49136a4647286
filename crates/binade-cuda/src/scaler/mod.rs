//! Loss scaling: the scale and what passes find are values on the device.

mod accumulate;
mod clip_groups;
mod found;
mod grad_ops;
mod grad_scaler;
mod report;
mod scale;
mod scale_store;
mod unscale;

pub use found::Found;
pub use scale::Scale;
