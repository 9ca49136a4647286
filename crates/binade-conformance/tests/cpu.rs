//! The CPU backend as the kit's first subject, by way of the traits that users call.

use binade_autocast::Autocast;
use binade_conformance::{Arithmetic, Refusal, Round, Runner, Subject, Turn, Unscaled, via};
use binade_core::{DType, Named, NamedGrads};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{LossScale, ScaleState};
use binade_ops::{MatMul, Mean, Sum};

struct Reference;

impl Subject for Reference {
    type Tensor = Tensor;

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

    fn unscale(
        &self,
        grads: NamedGrads<Tensor>,
        scale: ScaleState,
    ) -> Result<Unscaled<Tensor>, Refusal> {
        via::unscale(&Cpu, grads, scale)
    }

    fn update_scale(
        &self,
        rule: &LossScale,
        scale: ScaleState,
        round: &Round,
    ) -> Result<ScaleState, Refusal> {
        via::update_scale(self, &Cpu, rule, scale, round)
    }

    fn train(
        &self,
        params: Vec<Named<Tensor>>,
        turns: Vec<Turn<Tensor>>,
    ) -> Result<Vec<Named<Tensor>>, Refusal> {
        via::train(&Cpu, params, turns)
    }

    fn matmul(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, Refusal> {
        Ok(Cpu.matmul(a, b)?)
    }

    fn sum(&self, tensor: &Tensor) -> Result<Tensor, Refusal> {
        Ok(Cpu.sum(tensor)?)
    }

    fn mean(&self, tensor: &Tensor) -> Result<Tensor, Refusal> {
        Ok(Cpu.mean(tensor)?)
    }
}

#[test]
fn the_cpu_keeps_every_contract() {
    let report = Runner::from_env().require("cpu").run(&Reference);
    println!("{report}");
    report.assert_success();
}
