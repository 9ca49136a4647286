//! Subject of the CPU reference.

use binade_autocast::Autocast;
use binade_conformance::via::{self, Device};
use binade_conformance::{Arithmetic, OpInvocation, Refusal};
use binade_core::{DType, stochastic::Key};
use binade_cpu::Tensor;

/// Subject that runs `binade-cpu`.
#[derive(Clone, Copy, Debug)]
pub struct Cpu;

impl Device for Cpu {
    type Handle = binade_cpu::Cpu;

    fn handle(&self) -> &binade_cpu::Cpu {
        &binade_cpu::Cpu
    }

    fn name(&self) -> &'static str {
        "cpu"
    }

    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::IEEE
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor, Refusal> {
        Ok(Tensor::from_bits(bits, dtype, shape)?)
    }

    fn to_bits(&self, tensor: &Tensor) -> Result<Vec<u8>, Refusal> {
        Ok(tensor.to_bits())
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> Result<Tensor, Refusal> {
        Ok(Autocast::cast(self.handle(), tensor, to)?)
    }

    fn cast_stochastic(&self, tensor: &Tensor, to: DType, key: Key) -> Result<Tensor, Refusal> {
        Ok(self.handle().cast_stochastic(tensor, to, key)?)
    }

    fn compute(&self, op: &OpInvocation, operands: &[&Tensor]) -> Result<Vec<Tensor>, Refusal> {
        via::compute(self.handle(), op, operands)
    }
}
