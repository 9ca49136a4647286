//! Subject of the CUDA backend, on a GPU or on the interpreter.

use super::no_strides;
use binade_autocast::Autocast;
use binade_conformance::{Arithmetic, Layout, OpInvocation, Result, Subject, compute};
use binade_core::{DType, cast::OnOverflow, stochastic::Key};
use binade_cuda::{
    Error, F32Products, ProductsBackend, Tensor,
    cudarc::driver::sys::CUdevice_attribute as Attribute,
};

/// Subject that runs `binade-cuda`.
#[derive(Clone, Debug)]
pub struct Cuda {
    name: &'static str,
    device: binade_cuda::Cuda,
    f32: F32Products,
}

/// Name of the interpreter's device, as its driver tells it.
const INTERPRETER: &str = "PTX interpreter";

/// Reason why a subject cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// CUDA device that cannot be opened.
    #[error(transparent)]
    Cuda(#[from] Error),
    /// wgpu adapter that cannot be opened.
    #[cfg(feature = "wgpu")]
    #[error(transparent)]
    Wgpu(#[from] binade_wgpu::Error),
    /// Device that this program was built without.
    #[error(
        "--device {0}: this program was built without it; run `cargo xtask conformance --device {0}`"
    )]
    NotBuilt(&'static str),
    /// Device of another kind than was asked for.
    #[error("--device {asked}, but the driver that was found has {found}: {advice}")]
    Other {
        /// Device asked for, as on the command line.
        asked: &'static str,
        /// Name of the device that was found.
        found: String,
        /// Advice on how to get the device asked for.
        advice: &'static str,
    },
    /// Device that computes no products by TF32.
    #[error("--tf32, but products are computed by {by}: it is for cuda and ptx, with cuBLASLt")]
    NoTf32 {
        /// Code that computes the products instead.
        by: String,
    },
}

impl Cuda {
    /// Opens the first GPU.
    ///
    /// # Errors
    ///
    /// If there is no GPU, or the interpreter stands in the driver's place.
    pub fn gpu() -> Result<Self, OpenError> {
        Self::open("cuda", false, "take the interpreter off the library path, or ask for ptx")
    }

    /// Opens the interpreter's device.
    ///
    /// # Errors
    ///
    /// If the interpreter is not in the driver's place.
    pub fn interpreter() -> Result<Self, OpenError> {
        Self::open("ptx", true, "start it by `cargo xtask conformance --device ptx`")
    }

    /// Lets the device's libraries multiply `f32` by TF32, and tells the kit.
    ///
    /// # Errors
    ///
    /// If the GPU is too old, or there is no library: the kit's tolerances would be widened without need.
    pub fn by_tf32(self) -> Result<Self, OpenError> {
        let f32 = F32Products::Tf32;
        let device = self.device.with_f32_products(f32)?;
        match device.products()? {
            ProductsBackend::Library { .. } => Ok(Self { device, f32, ..self }),
            by => Err(OpenError::NoTf32 { by: by.to_string() }),
        }
    }

    fn open(
        asked: &'static str,
        is_interpreter: bool,
        advice: &'static str,
    ) -> Result<Self, OpenError> {
        let device = binade_cuda::Cuda::open(0)?;
        let found = device.name()?;
        if found.contains(INTERPRETER) == is_interpreter {
            return Ok(Self { name: asked, device, f32: F32Products::Full });
        }
        Err(OpenError::Other { asked, found, advice })
    }

    /// Returns the cases of operations that the GPU is too old for.
    ///
    /// # Errors
    ///
    /// If the driver does not say how old it is.
    pub fn lacking(&self) -> Result<&'static [&'static str], OpenError> {
        let major = Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
        let is_old = self.device.attribute(major)? < 8;
        Ok(if is_old { &BF16_PRODUCTS } else { &[] })
    }
}

/// Cases of bf16 operations that multiply matrices.
const BF16_PRODUCTS: [&str; 5] =
    ["bmm/bf16/", "conv2d/bf16/", "linear/bf16/", "linear_relu/bf16/", "matmul/bf16/"];

impl Subject for Cuda {
    type Handle = binade_cuda::Cuda;

    fn handle(&self) -> Option<&binade_cuda::Cuda> {
        Some(&self.device)
    }

    fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the arithmetic of the kernels. They are compiled with `-fmad=false -ftz=false -prec-div=true -prec-sqrt=true`, and
    /// write each `fma` out. Tensor Cores compute products. There are no conversions of f64.
    fn arithmetic(&self) -> Arithmetic {
        let tf32 = self.f32 == F32Products::Tf32;
        Arithmetic { f64: false, tensor_core: true, tf32, ..Arithmetic::IEEE }
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor> {
        Ok(self.device.from_bits(bits, dtype, shape)?)
    }

    /// Makes a view inside a larger buffer, so that the first element does not lie at an allocation's start.
    fn view(&self, bits: &[u8], dtype: DType, shape: &[usize], layout: Layout) -> Result<Tensor> {
        let Layout::Offset(offset) = layout else { return Err(no_strides()) };
        let (buffer, len) = (layout.buffer(bits, dtype, shape), bits.len() / dtype.bytes());
        let whole = self.device.from_bits(&buffer, dtype, &[buffer.len() / dtype.bytes()])?;
        Ok(whole.slice(offset, len)?.reshape(shape)?)
    }

    fn to_bits(&self, tensor: &Tensor) -> Result<Vec<u8>> {
        Ok(self.device.to_bits(tensor)?)
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> Result<Tensor> {
        Ok(Autocast::cast(&self.device, tensor, to)?)
    }

    fn cast_all(&self, tensors: &[&Tensor], to: DType) -> Result<Vec<Tensor>> {
        let tensors: Vec<Tensor> = tensors.iter().map(|tensor| (*tensor).clone()).collect();
        Ok(self.device.cast_all(&tensors, to)?)
    }

    fn cast_saturating(&self, tensor: &Tensor, to: DType) -> Result<Tensor> {
        Ok(self.device.cast_overflowing(tensor, to, OnOverflow::Saturate)?)
    }

    fn cast_stochastic(&self, tensor: &Tensor, to: DType, key: Key) -> Result<Tensor> {
        Ok(self.device.cast_stochastic(tensor, to, key)?)
    }

    fn compute(&self, op: &OpInvocation, operands: &[&Tensor]) -> Result<Vec<Tensor>> {
        compute(&self.device, op, operands)
    }
}
