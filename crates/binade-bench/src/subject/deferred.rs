//! Subject of the CPU run late and strict: a read outside an announced window fails its case.

use binade_autocast::Autocast;
use binade_conformance::via::{self, Device};
use binade_conformance::{Arithmetic, OpInvocation, Refusal};
use binade_core::{DType, stochastic::Key};
use binade_deferred::Tensor;

/// Subject that runs `binade-deferred`. The device may be read only when the kit asks for bits or for a verdict.
#[derive(Clone, Debug)]
pub struct Deferred(binade_deferred::Deferred);

impl Default for Deferred {
    fn default() -> Self {
        Self(binade_deferred::Deferred::strict())
    }
}

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
        // The kit looks at a tensor here and nowhere else.
        let _window = self.0.window();
        Ok(self.0.to_bits(tensor)?)
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> Result<Tensor, Refusal> {
        Ok(Autocast::cast(&self.0, tensor, to)?)
    }

    fn cast_stochastic(&self, tensor: &Tensor, to: DType, key: Key) -> Result<Tensor, Refusal> {
        Ok(self.0.cast_stochastic(tensor, to, key)?)
    }

    fn compute(&self, op: &OpInvocation, operands: &[&Tensor]) -> Result<Vec<Tensor>, Refusal> {
        via::compute(&self.0, op, operands)
    }
}
