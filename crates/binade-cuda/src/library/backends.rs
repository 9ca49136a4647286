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
    /// cuBLASLt as by [`Library`](Self::Library), by the fastest of up to eight algorithms. The host times them at the first product of a shape,
    /// outside captures, and waits for them. Another run may find another one the fastest, and have other bits.
    Fastest,
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
    /// A NaN that differs from infinity only in the 13 dropped bits may be read as infinity. The result is not finite either way, and the check of
    /// gradients finds it.
    Tf32,
}

/// Code that computes matrix products, or convolutions: see [`Cuda::products`](crate::Cuda::products) and
/// [`Cuda::convolutions`](crate::Cuda::convolutions).
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ProductsBackend {
    /// cuBLASLt or cuDNN, and Binade's own kernels for what it refuses.
    Library {
        /// Name of the library.
        name: &'static str,
        /// Version as the library gives it: 10000 · major + 100 · minor + patch.
        version: usize,
        /// Precision of `f32` products.
        f32: F32Products,
        /// Number of algorithms to choose the fastest from; 1 for the library's own choice.
        algorithms: usize,
    },
    /// Only Binade's kernels.
    Own {
        /// Reason why the library is not used.
        why: String,
    },
}

impl ProductsBackend {
    /// Returns the backend of a library by its name and version, or of kernels for a reason.
    pub(super) fn of(
        opened: Result<(&'static str, usize), &str>,
        f32: F32Products,
        algorithms: usize,
    ) -> Self {
        match opened {
            Ok((name, version)) => Self::Library { name, version, f32, algorithms },
            Err(why) if f32 == F32Products::Full => Self::Own { why: why.into() },
            Err(why) => Self::Own { why: format!("{why}; they multiply f32 in full") },
        }
    }
}

impl fmt::Display for ProductsBackend {
    /// Writes a library's name and version, TF32 if it is on, and the number of algorithms if there are several to choose from.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library { name, version, f32, algorithms } => {
                let (major, minor) = (version / 10_000, version % 10_000 / 100);
                let how = if *f32 == F32Products::Tf32 { ", f32 by TF32" } else { "" };
                write!(f, "{name} {major}.{minor}.{}{how}", version % 100)?;
                if *algorithms > 1 {
                    write!(f, ", the fastest of {algorithms} algorithms")
                } else {
                    Ok(())
                }
            }
            Self::Own { why } => write!(f, "own kernels: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_told_by_its_version_and_kernels_by_the_reason() {
        let text = |opened, f32| ProductsBackend::of(opened, f32, 1).to_string();
        let (full, tf32) = (F32Products::Full, F32Products::Tf32);
        assert_eq!(text(Ok(("cuBLASLt", 130_204)), full), "cuBLASLt 13.2.4");
        assert_eq!(text(Ok(("cuDNN", 92_800)), tf32), "cuDNN 9.28.0, f32 by TF32");
        assert_eq!(text(Err("asked for"), full), "own kernels: asked for");
        let fastest = ProductsBackend::of(Ok(("cuBLASLt", 130_204)), full, 8).to_string();
        assert_eq!(fastest, "cuBLASLt 13.2.4, the fastest of 8 algorithms");
        assert_eq!(
            text(Err("asked for"), tf32),
            "own kernels: asked for; they multiply f32 in full"
        );
    }
}
