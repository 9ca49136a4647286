//! Code that computes matrix products and convolutions: the user's choice, and the device's answer.

use std::fmt;

/// Choice of the code that computes matrix products: see [`Cuda::with_products`](crate::Cuda::with_products).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Products {
    /// cuBLASLt if it is installed, and kernels for all that it refuses; convolutions by cuDNN if it is installed and the feature
    /// `cudnn` is on.
    ///
    /// Repeated runs on the same GPU with the same version of the library have the same bits, as its "Results reproducibility"
    /// says of one stream. Another GPU, version, shape or alignment may have other bits.
    #[default]
    Library,
    /// Kernels of Binade. An element's bits follow from its row, its column, its bias and the number of ranges that its sum is
    /// cut into. That number follows from the product's shape, element type and the GPU's generation, and in gradients of a batch
    /// and in convolutions from the batch too.
    Own,
}

/// Precision in which a library may multiply `f32` by `f32`: see [`Cuda::with_f32_products`](crate::Cuda::with_f32_products).
///
/// TF32 has the exponents of `f32` and 10 stored bits of its significand ("NVIDIA A100 Tensor Core GPU Architecture", 2020). An
/// operand whose other 13 bits are dropped is off by less than 2^-10 of itself, one that is rounded by half of that. A sum of
/// products is therefore within 2^-9·Σ|a||b| of the same sum of `f32`. Nothing else changes: a result is `f32`, and so are sums.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum F32Products {
    /// Products of all bits of `f32`.
    #[default]
    Full,
    /// Products by Tensor Cores, which read TF32, if a library computes them. Binade's own kernels multiply in full.
    ///
    /// A NaN that differs from infinity in the 13 dropped bits alone may be read as infinity. The result is not finite either
    /// way, and the check of gradients finds it.
    Tf32,
}

/// Code that computes matrix products: see [`Cuda::products`](crate::Cuda::products).
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ProductsBackend {
    /// cuBLASLt, and Binade's own kernels for products that it refuses.
    Library {
        /// Version as `cublasLtGetVersion` gives it: 10000 · major + 100 · minor + patch.
        version: usize,
        /// Precision of `f32` products.
        f32: F32Products,
    },
    /// Kernels of Binade alone.
    Own {
        /// Reason why the library is not used.
        why: String,
    },
}

/// Code that computes convolutions: see [`Cuda::convolutions`](crate::Cuda::convolutions).
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ConvolutionsBackend {
    /// cuDNN, and products over windows for convolutions that it refuses.
    Library {
        /// Version as `cudnnGetVersion` gives it: 10000 · major + 100 · minor + patch.
        version: usize,
        /// Precision of `f32` products.
        f32: F32Products,
    },
    /// Products over windows, by the code that computes products: see [`Cuda::products`](crate::Cuda::products).
    Own {
        /// Reason why the library is not used.
        why: String,
    },
}

impl fmt::Display for ConvolutionsBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library { version, f32 } => library(f, "cuDNN", *version, *f32),
            Self::Own { why } => write!(f, "products over windows: {why}"),
        }
    }
}

impl fmt::Display for ProductsBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library { version, f32 } => library(f, "cuBLASLt", *version, *f32),
            Self::Own { why } => write!(f, "own kernels: {why}"),
        }
    }
}

/// Writes a library's name and version, and TF32 if it is on. Full products are the expectation, and are left out.
fn library(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    version: usize,
    f32: F32Products,
) -> fmt::Result {
    let (major, minor) = (version / 10_000, version % 10_000 / 100);
    let how = if f32 == F32Products::Tf32 { ", f32 by TF32" } else { "" };
    write!(f, "{name} {major}.{minor}.{}{how}", version % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_told_by_its_version_and_kernels_by_the_reason() {
        let f32 = F32Products::Full;
        let library = ProductsBackend::Library { version: 130_204, f32 };
        assert_eq!(library.to_string(), "cuBLASLt 13.2.4");
        let own = ProductsBackend::Own { why: "asked for".into() };
        assert_eq!(own.to_string(), "own kernels: asked for");
        let library = ConvolutionsBackend::Library { version: 92_800, f32 };
        assert_eq!(library.to_string(), "cuDNN 9.28.0");
        let own = ConvolutionsBackend::Own { why: "asked for".into() };
        assert_eq!(own.to_string(), "products over windows: asked for");
    }

    #[test]
    fn tf32_is_told_beside_the_version() {
        let f32 = F32Products::Tf32;
        let products = ProductsBackend::Library { version: 130_204, f32 };
        assert_eq!(products.to_string(), "cuBLASLt 13.2.4, f32 by TF32");
        let convolutions = ConvolutionsBackend::Library { version: 92_800, f32 };
        assert_eq!(convolutions.to_string(), "cuDNN 9.28.0, f32 by TF32");
    }
}
