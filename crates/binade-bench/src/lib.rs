#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod device;
pub mod speed;
pub mod subject;

pub use device::Device;
