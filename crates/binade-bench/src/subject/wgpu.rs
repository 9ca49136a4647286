//! Subject of the wgpu backend, on the adapter that `BINADE_WGPU_ADAPTER` names or the first one found.

use super::no_strides;
use binade_autocast::Autocast;
use binade_conformance::{Arithmetic, Layout, OpInvocation, Result, Subject, compute};
use binade_core::{DType, cast::OnOverflow, stochastic::Key};
use binade_wgpu::{Error, Tensor};

/// Subject that runs `binade-wgpu`.
#[derive(Clone, Debug)]
pub struct Wgpu {
    device: binade_wgpu::Wgpu,
}

impl Wgpu {
    /// Cases that compute with tensors of eight bits.
    pub(crate) const LACKING: [&str; 8] = [
        "fill/e4m3",
        "fill/e5m2",
        "scale/e4m3",
        "scale/e5m2",
        "sum/e4m3",
        "sum/e5m2",
        "mean/e4m3",
        "mean/e5m2",
    ];

    /// Opens the adapter that [`binade_wgpu::Wgpu::open`] finds.
    ///
    /// # Errors
    ///
    /// If there is no adapter.
    pub fn open() -> Result<Self, Error> {
        Ok(Self { device: binade_wgpu::Wgpu::open()? })
    }
}

impl Subject for Wgpu {
    type Handle = binade_wgpu::Wgpu;

    fn handle(&self) -> Option<&binade_wgpu::Wgpu> {
        Some(&self.device)
    }

    fn name(&self) -> &'static str {
        "wgpu"
    }

    /// Returns the arithmetic that WGSL promises: products and sums that may be fused, quotients within 2.5 units in the last
    /// place, subnormals that may be flushed, and no f64.
    fn arithmetic(&self) -> Arithmetic {
        Arithmetic {
            fma: false,
            keeps_subnormals: false,
            rounded_div_sqrt: false,
            f64: false,
            tensor_core: false,
            tf32: false,
        }
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor> {
        Ok(self.device.from_bits(bits, dtype, shape)?)
    }

    /// Makes a view inside a larger buffer, so that the first element does not lie at a binding's start.
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

    fn compute(&self, op: &OpInvocation, operands: &[&Tensor]) -> Result<Vec<Tensor>> {
        compute(&self.device, op, operands)
    }

    fn cast_saturating(&self, tensor: &Tensor, to: DType) -> Result<Tensor> {
        Ok(self.device.cast_overflowing(tensor, to, OnOverflow::Saturate)?)
    }

    fn cast_stochastic(&self, tensor: &Tensor, to: DType, key: Key) -> Result<Tensor> {
        Ok(self.device.cast_stochastic(tensor, to, key)?)
    }
}
