//! The CUDA backend, on a GPU or on the interpreter.

use binade_autocast::Autocast;
use binade_conformance::via::Device;
use binade_conformance::{Arithmetic, Refusal};
use binade_core::{DType, stochastic::Key};
use binade_cuda::{Error, Tensor};

/// `binade-cuda`.
#[derive(Clone, Debug)]
pub struct Cuda {
    name: &'static str,
    device: binade_cuda::Cuda,
}

/// What the interpreter's device is called.
const INTERPRETER: &str = "PTX interpreter";

/// Why there is no subject.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The device cannot be opened.
    #[error(transparent)]
    Cuda(#[from] Error),
    /// Another device than the one that was asked for.
    #[error("--device {asked}, but the driver that was found has {found}: {advice}")]
    Other {
        /// As on the command line.
        asked: &'static str,
        /// The device's own name.
        found: String,
        /// What to do.
        advice: &'static str,
    },
}

impl Cuda {
    /// The first GPU.
    ///
    /// # Errors
    ///
    /// Where there is none, or the interpreter stands in its place.
    pub fn gpu() -> Result<Self, OpenError> {
        Self::open("cuda", false, "take the interpreter off the library path, or ask for ptx")
    }

    /// The interpreter.
    ///
    /// # Errors
    ///
    /// Where it is not in the driver's place.
    pub fn interpreter() -> Result<Self, OpenError> {
        Self::open("ptx", true, "start it by `cargo xtask conformance --device ptx`")
    }

    fn open(
        asked: &'static str,
        is_interpreter: bool,
        advice: &'static str,
    ) -> Result<Self, OpenError> {
        let device = binade_cuda::Cuda::open(0)?;
        let found = device.name()?;
        if found.contains(INTERPRETER) == is_interpreter {
            return Ok(Self { name: asked, device });
        }
        Err(OpenError::Other { asked, found, advice })
    }
}

impl Device for Cuda {
    type Handle = binade_cuda::Cuda;

    fn handle(&self) -> &binade_cuda::Cuda {
        &self.device
    }

    fn name(&self) -> &'static str {
        self.name
    }

    /// Kernels are compiled with `-fmad=false -ftz=false -prec-div=true -prec-sqrt=true`, and write each `fma`. There are
    /// no products yet, and no conversions of f64.
    fn arithmetic(&self) -> Arithmetic {
        Arithmetic { f64: false, ..Arithmetic::IEEE }
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor, Refusal> {
        Ok(self.device.from_bits(bits, dtype, shape)?)
    }

    /// Within a larger buffer, so that the first element is not where allocations begin.
    fn at_offset(
        &self,
        bits: &[u8],
        dtype: DType,
        shape: &[usize],
        offset: usize,
    ) -> Result<Tensor, Refusal> {
        let mut padded = vec![0xff; offset * dtype.bytes()];
        padded.extend_from_slice(bits);
        let len = bits.len() / dtype.bytes();
        let whole = self.device.from_bits(&padded, dtype, &[offset + len])?;
        Ok(whole.slice(offset, len)?.reshape(shape)?)
    }

    fn to_bits(&self, tensor: &Tensor) -> Result<Vec<u8>, Refusal> {
        Ok(self.device.to_bits(tensor)?)
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> Result<Tensor, Refusal> {
        Ok(Autocast::cast(&self.device, tensor, to)?)
    }

    fn cast_stochastic(&self, tensor: &Tensor, to: DType, key: Key) -> Result<Tensor, Refusal> {
        Ok(self.device.cast_stochastic(tensor, to, key)?)
    }
}

/// What the backend does not have yet, by operation: skips of these are listed, not failed.
///
/// Once it has all of `binade_ops::Ops`, its `compute` is `via::compute(&self.device, op, operands)`, as on the CPU.
pub const NOT_YET: [&str; 23] = [
    "matmul/",
    "mean/",
    "sum/",
    "fill/",
    "reshape/",
    "relu/",
    "gelu/",
    "tanh/",
    "add/",
    "mul/",
    "bias_add/",
    "linear/",
    "bmm/",
    "conv2d/",
    "max_pool2d/",
    "layer_norm/",
    "batch_norm/",
    "softmax/",
    "log_softmax/",
    "cross_entropy/",
    "mse_loss/",
    "embedding/",
    "dropout/",
];
