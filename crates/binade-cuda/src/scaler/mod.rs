//! Loss scaling: the scale and what passes find are values on the device.

mod accumulate;
mod clip;
mod clip_groups;
mod flag;
mod grad_scaler;
mod report;
mod scale;
mod scale_store;
mod unscale;

pub use scale::Scale;
