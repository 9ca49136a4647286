//! Matrix products by NVIDIA's library, cuBLASLt, where it is installed: asked for an algorithm once a shape, given one
//! workspace, and told to the recorder like a kernel. In `dnn`, behind a feature, convolutions by cuDNN.

mod convolutions;
#[cfg(feature = "cudnn")]
mod dnn;
mod lt;
#[cfg(not(feature = "cudnn"))]
mod no_dnn;
mod open;
mod problem;
mod products;
#[cfg(test)]
mod tests;
mod which;

pub(crate) use convolutions::Pass;
pub(crate) use open::Library;
pub use which::{ConvolutionsBy, F32Products, Products, ProductsBy};
