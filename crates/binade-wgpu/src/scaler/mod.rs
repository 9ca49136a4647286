//! Loss scaling: the scale and the findings of passes are values on the device.

mod kernels;
mod report;
mod scale;
mod shaders;
mod unscale;

pub use scale::Scale;
pub(crate) use shaders::SHADERS;
