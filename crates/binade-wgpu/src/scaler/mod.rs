//! Loss scaling: the scale and the findings of passes are values on the device.

mod kernels;
mod report;
mod unscale;
