//! Subject of the CPU reference.

use binade_autocast::Autocast;
use binade_conformance::{Arithmetic, OpInvocation, Result, Subject, compute};
use binade_core::{DType, stochastic::Key};
use binade_cpu::Tensor;

/// Subject that runs `binade-cpu`.
#[derive(Clone, Copy, Debug)]
pub struct Cpu;

impl Subject for Cpu {
    type Handle = binade_cpu::Cpu;

    fn handle(&self) -> Option<&binade_cpu::Cpu> {
        Some(&binade_cpu::Cpu)
    }

    fn name(&self) -> &'static str {
        "cpu"
    }

    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::IEEE
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor> {
        Ok(Tensor::from_bits(bits, dtype, shape)?)
    }

    fn to_bits(&self, tensor: &Tensor) -> Result<Vec<u8>> {
        Ok(tensor.to_bits())
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> Result<Tensor> {
        Ok(Autocast::cast(&binade_cpu::Cpu, tensor, to)?)
    }

    fn cast_stochastic(&self, tensor: &Tensor, to: DType, key: Key) -> Result<Tensor> {
        Ok(binade_cpu::Cpu.cast_stochastic(tensor, to, key)?)
    }

    fn compute(&self, op: &OpInvocation, operands: &[&Tensor]) -> Result<Vec<Tensor>> {
        compute(&binade_cpu::Cpu, op, operands)
    }
}
