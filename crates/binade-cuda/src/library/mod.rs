//! Matrix products by NVIDIA's library cuBLASLt, if it is installed. It chooses an algorithm once a shape, has one workspace, and
//! its calls are recorded like kernels. Convolutions by cuDNN are in `dnn`, behind a feature.

mod backends;
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

pub use backends::{ConvolutionsBackend, F32Products, Products, ProductsBackend};
pub(crate) use convolutions::Pass;
pub(crate) use open::Library;
