//! The CPU run late.

use binade_autocast::Autocast;
use binade_conformance::via::Device;
use binade_conformance::{Arithmetic, Refusal};
use binade_core::{DType, stochastic::Key};
use binade_deferred::Tensor;
use binade_ops::{MatMul, Mean, Sum};

/// `binade-deferred`.
#[derive(Clone, Debug, Default)]
pub struct Deferred(binade_deferred::Deferred);

impl Device for Deferred {
    type Handle = binade_deferred::Deferred;

    fn handle(&self) -> &binade_deferred::Deferred {
        &self.0
    }

    fn name(&self) -> &'static str {
        "deferred"
    }

    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::IEEE
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor, Refusal> {
        Ok(binade_cpu::Tensor::from_bits(bits, dtype, shape)?.into())
    }

    fn to_bits(&self, tensor: &Tensor) -> Result<Vec<u8>, Refusal> {
        Ok(self.0.to_bits(tensor)?)
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> Result<Tensor, Refusal> {
        Ok(Autocast::cast(&self.0, tensor, to)?)
    }

    fn cast_stochastic(&self, tensor: &Tensor, to: DType, key: Key) -> Result<Tensor, Refusal> {
        Ok(self.0.cast_stochastic(tensor, to, key)?)
    }

    fn matmul(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, Refusal> {
        Ok(self.0.matmul(a, b)?)
    }

    fn sum(&self, tensor: &Tensor) -> Result<Tensor, Refusal> {
        Ok(self.0.sum(tensor)?)
    }

    fn mean(&self, tensor: &Tensor) -> Result<Tensor, Refusal> {
        Ok(self.0.mean(tensor)?)
    }
}
