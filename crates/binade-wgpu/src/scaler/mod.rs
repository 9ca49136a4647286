//! Loss scaling, with the scale and found-inf results on the device.

mod kernels;
mod report;
mod unscale;
