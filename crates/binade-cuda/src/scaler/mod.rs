//! Loss scaling: the scale and the findings of passes are values on the device.

mod flag;
mod group_norms;
mod kernels;
mod readers;
mod report;
mod update;
