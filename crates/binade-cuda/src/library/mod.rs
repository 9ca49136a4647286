//! Matrix products by NVIDIA's library cuBLASLt, and behind features convolutions by cuDNN and ranks by NCCL, if they are installed. A library is
//! opened at its first use, chooses an algorithm once a shape, and its calls are recorded like kernels.

mod backends;
#[cfg(feature = "cudnn")]
mod dnn;
mod fastest;
mod lt;
#[cfg(feature = "nccl")]
mod nccl;
mod opened;
mod problem;
mod products;
#[cfg(test)]
mod tests;

pub use backends::{F32Products, Products, ProductsBackend};

use crate::{Cuda, CudaError, Error, ops::gemm::Gemm};
use binade_core::DType;
use opened::Opened;
use std::sync::{
    OnceLock,
    atomic::{AtomicBool, Ordering},
};

/// Convolution, or one of its gradients.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Pass {
    Forward,
    OfInput,
    OfWeight,
}

/// State of the libraries for a device's handles.
#[derive(Debug, Default)]
pub(crate) struct Library {
    /// True if products are computed by Binade's own kernels.
    own: AtomicBool,
    /// True if the fastest of several algorithms is searched for.
    fastest: AtomicBool,
    /// True if a library may multiply `f32` by TF32.
    tf32: AtomicBool,
    /// True once cuBLASLt was not found: later products do not search for it.
    pub(crate) is_missing: AtomicBool,
    lt: Lazy<products::CublasLt>,
    #[cfg(feature = "cudnn")]
    dnn: Lazy<dnn::Cudnn>,
}

impl Cuda {
    /// Chooses the code that computes matrix products and convolutions from here on, for this handle and its clones. The default
    /// is cuBLASLt, and cuDNN with the feature `cudnn`, if they are installed.
    ///
    /// A captured step keeps the choice that it was captured with. A change between the warm-ups of a capture and the captured
    /// run is an error of that run.
    #[must_use]
    pub fn with_products(self, products: Products) -> Self {
        let Library { own, fastest, .. } = &self.inner.library;
        own.store(products == Products::Own, Ordering::Relaxed);
        fastest.store(products == Products::Fastest, Ordering::Relaxed);
        self
    }

    /// Chooses how the libraries multiply `f32` by `f32` from here on, in products and convolutions, for this handle and its clones. The default is
    /// in full. Products of sixteen bits do not change, and neither do those of Binade's own kernels. [`products`](Self::products) returns the
    /// choice, and [`DeviceCounters::tf32`](crate::DeviceCounters::tf32) counts such products.
    ///
    /// A captured step keeps the choice that it was captured with. A change between the warm-ups of a capture and the captured
    /// run is an error of that run.
    ///
    /// # Errors
    ///
    /// [`CudaError::TooOldFor`] for TF32 before compute capability 8.0, whose Tensor Cores have none; nothing is changed then.
    pub fn with_f32_products(self, products: F32Products) -> Result<Self, Error> {
        let is_tf32 = products == F32Products::Tf32;
        let (major, minor) = self.inner.capability;
        if is_tf32 && major < 8 {
            return Err(Error::Driver(CudaError::TooOldFor {
                what: "products of f32 by TF32",
                found: format!("{major}.{minor}"),
                needed: "8.0",
                instead: "f32 in full",
            }));
        }
        self.inner.library.tf32.store(is_tf32, Ordering::Relaxed);
        Ok(self)
    }

    /// Returns the code that computes matrix products, with its version, for records of results. Looks for the library if no call has yet.
    ///
    /// # Errors
    ///
    /// If the device fails.
    pub fn products(&self) -> Result<ProductsBackend, Error> {
        let opened = self.cublaslt()?.map(|open| ("cuBLASLt", open.version));
        Ok(ProductsBackend::of(opened, self.f32_products(), self.algorithms()))
    }

    /// Returns the code that computes convolutions, with its version, for records of results. Looks for cuDNN if no call has yet and the backend is
    /// built with the feature `cudnn`.
    ///
    /// # Errors
    ///
    /// If the device fails.
    pub fn convolutions(&self) -> Result<ProductsBackend, Error> {
        #[cfg(feature = "cudnn")]
        let opened = self.cudnn()?.map(|open| ("cuDNN", open.version));
        #[cfg(not(feature = "cudnn"))]
        let opened = Err("built without the feature `cudnn`");
        Ok(ProductsBackend::of(opened, self.f32_products(), 1))
    }

    /// Returns the number of algorithms to request from cuBLASLt.
    fn algorithms(&self) -> usize {
        let is_fastest = self.inner.library.fastest.load(Ordering::Relaxed);
        if is_fastest { lt::MOST_ALGORITHMS } else { 1 }
    }

    /// Returns how the libraries may multiply `f32`.
    fn f32_products(&self) -> F32Products {
        let is_tf32 = self.inner.library.tf32.load(Ordering::Relaxed);
        if is_tf32 { F32Products::Tf32 } else { F32Products::Full }
    }

    /// Counts a product that a library may compute by TF32.
    fn multiplied(&self, how: F32Products) {
        self.inner.counters.tf32.add(usize::from(how == F32Products::Tf32));
    }

    /// Returns true if a product may drop bits of operands of this type.
    pub(crate) fn drops_bits(&self, dtype: DType) -> Result<bool, Error> {
        let is_tf32 = dtype == DType::F32 && self.f32_products() == F32Products::Tf32;
        Ok(is_tf32 && self.has_library()?)
    }

    /// Returns true if products go to the library first.
    pub(crate) fn has_library(&self) -> Result<bool, Error> {
        Ok(self.cublaslt()?.is_ok())
    }

    /// Computes the products by the library. Returns `false` if the library does not compute them. The caller has checked that
    /// the tensors hold them.
    pub(crate) fn multiplies_by_library(&self, gemm: &Gemm<'_>) -> Result<bool, Error> {
        self.check_alive()?;
        self.cublaslt()?.map_or(Ok(false), |open| self.multiply_by(open, gemm))
    }

    fn cublaslt(&self) -> Result<Result<&products::CublasLt, &str>, Error> {
        self.inner.library.lt.get(self, products::open)
    }

    /// Returns false: a kernel computes the convolution.
    #[cfg(not(feature = "cudnn"))]
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "as they are with the feature"
    )]
    pub(crate) fn convolves(
        &self,
        _pass: Pass,
        _operands: [&crate::Tensor; 3],
        _config: binade_core::ops::Conv2dConfig,
    ) -> Result<bool, Error> {
        Ok(false)
    }
}

/// Library, or the reason why it is not used.
#[derive(Debug)]
struct Lazy<T>(OnceLock<Result<T, String>>);

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> Lazy<T> {
    /// Returns the library, or the reason why it is not used. A captured run does not open it: its warm-ups have, or did not use it.
    fn get(
        &self,
        cuda: &Cuda,
        open: impl FnOnce(&Cuda) -> Result<Result<T, String>, Error>,
    ) -> Result<Result<&T, &str>, Error> {
        if cuda.inner.library.own.load(Ordering::Relaxed) {
            return Ok(Err("asked for"));
        }
        let opened = match self.0.get() {
            Some(opened) => opened,
            None if cuda.is_captured() => {
                return Ok(Err("the library has not been looked for before the captured run"));
            }
            None => {
                cuda.bind()?;
                let opened = open(cuda)?;
                self.0.get_or_init(|| opened)
            }
        };
        Ok(opened.as_ref().map_err(String::as_str))
    }
}
