//! Matrix products by NVIDIA's library, cuBLASLt, where it is installed: asked for an algorithm once a shape, given one
//! workspace, and told to the recorder like a kernel.

mod lt;
mod open;
mod problem;
mod products;
#[cfg(test)]
mod tests;
mod which;

pub(crate) use open::Library;
pub use which::{Products, ProductsBy};
