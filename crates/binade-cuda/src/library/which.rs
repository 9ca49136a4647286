//! Who computes matrix products and convolutions: what a user asks for, and what there is.

use std::fmt;

/// What a user wants matrix products computed by: see [`Cuda::with_products`](crate::Cuda::with_products).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Products {
    /// cuBLASLt where it is installed, and the kernels where it is not and for what it refuses; convolutions by cuDNN where
    /// it is installed and the feature `cudnn` is on.
    ///
    /// The same bits in repeated runs on the same GPU with the same version of the library, as its "Results reproducibility"
    /// says of one stream; another GPU, version, shape or alignment may have other bits.
    #[default]
    Library,
    /// Binade's own kernels: an element's bits follow from its row, its column, its bias and the number of ranges that its sum is
    /// cut into. That number follows from the product's shape, element type and the GPU's generation, and in gradients of a
    /// batch and in convolutions from the batch too.
    Own,
}

/// What computes matrix products: see [`Cuda::products`](crate::Cuda::products).
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ProductsBy {
    /// cuBLASLt; what it refuses, Binade's own kernels.
    Library {
        /// As `cublasLtGetVersion` gives it: 10000 · major + 100 · minor + patch.
        version: usize,
    },
    /// Binade's own kernels alone.
    Own {
        /// Why not the library.
        why: String,
    },
}

/// What computes convolutions: see [`Cuda::convolutions`](crate::Cuda::convolutions).
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ConvolutionsBy {
    /// cuDNN; what it refuses, products over windows.
    Library {
        /// As `cudnnGetVersion` gives it: 10000 · major + 100 · minor + patch.
        version: usize,
    },
    /// Products over windows, by whatever computes products: see [`Cuda::products`](crate::Cuda::products).
    Own {
        /// Why not the library.
        why: String,
    },
}

impl fmt::Display for ConvolutionsBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library { version } => {
                let (major, minor) = (version / 10_000, version % 10_000 / 100);
                write!(f, "cuDNN {major}.{minor}.{}", version % 100)
            }
            Self::Own { why } => write!(f, "products over windows: {why}"),
        }
    }
}

impl fmt::Display for ProductsBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library { version } => {
                let (major, minor) = (version / 10_000, version % 10_000 / 100);
                write!(f, "cuBLASLt {major}.{minor}.{}", version % 100)
            }
            Self::Own { why } => write!(f, "own kernels: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_told_by_its_version_and_kernels_by_the_reason() {
        let library = ProductsBy::Library { version: 130_204 };
        assert_eq!(library.to_string(), "cuBLASLt 13.2.4");
        let own = ProductsBy::Own { why: "asked for".into() };
        assert_eq!(own.to_string(), "own kernels: asked for");
        let library = ConvolutionsBy::Library { version: 92_800 };
        assert_eq!(library.to_string(), "cuDNN 9.28.0");
        let own = ConvolutionsBy::Own { why: "asked for".into() };
        assert_eq!(own.to_string(), "products over windows: asked for");
    }
}
