//! The CPU backend as the kit's first subject, by way of the traits that users call.

use binade_autocast::Autocast;
use binade_conformance::via::{self, Device};
use binade_conformance::{Arithmetic, OpInvocation, Refusal, Runner};
use binade_core::{DType, stochastic::Key};
use binade_cpu::{Cpu, Tensor};

struct Reference;

impl Device for Reference {
    type Handle = Cpu;

    fn handle(&self) -> &Cpu {
        &Cpu
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
        Ok(Autocast::cast(&Cpu, tensor, to)?)
    }

    fn cast_stochastic(&self, tensor: &Tensor, to: DType, key: Key) -> Result<Tensor, Refusal> {
        Ok(Cpu.cast_stochastic(tensor, to, key)?)
    }

    fn compute(&self, op: &OpInvocation, operands: &[&Tensor]) -> Result<Vec<Tensor>, Refusal> {
        via::compute(&Cpu, op, operands)
    }
}

#[test]
fn the_cpu_keeps_every_contract() {
    let views = "views_are_read_in_row_major_order";
    let runner = Runner::from_env().excuse(views, "its tensors lie row after row, without strides");
    let report = runner.require("cpu").run(&Reference);
    println!("{report}");
    report.assert_success();
}
