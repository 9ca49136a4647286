//! Loss scaling: the scale and the findings of passes are values on the device.

pub(crate) mod group_norms;
mod kernels;
mod report;
mod sums;
