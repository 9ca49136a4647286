//! Compiles where the backend's cudarc and candle's are one crate, with what either asks of it.

#![deny(unsafe_code)]

#[cfg(feature = "candle")]
pub mod candle;

use binade_cuda::{Cuda, Error};
use cudarc::{cublas::CudaBlas, cublaslt::CudaBlasLT, curand::CudaRng, driver::CudaStream};
use std::sync::Arc;

/// Parts of cudarc that candle's device holds.
pub struct Candle {
    /// Where candle puts its work.
    pub stream: Arc<CudaStream>,
    /// Products of matrices.
    pub blas: Arc<CudaBlas>,
    /// The handle with an epilogue.
    pub blas_lt: Arc<CudaBlasLT>,
    /// Random numbers.
    pub random: CudaRng,
}

impl Candle {
    /// The backend in candle's stream: both mean the same type.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn binade(&self) -> Result<Cuda, Error> {
        Cuda::on(self.stream.clone())
    }
}
