//! The CPU run late as the kit's second subject: the same contracts, and no read but where the kit asks for bits or for
//! what was found. The device is strict: a read that nobody announced fails its case.

use binade_autocast::Autocast;
use binade_conformance::{Arithmetic, Refusal, Round, Runner, Subject, Turn, Unscaled, via};
use binade_core::{DType, Named, NamedGrads};
use binade_deferred::{Deferred, Tensor};
use binade_grad_scaler::{LossScale, ScaleState};
use binade_ops::{MatMul, Mean, Sum};

struct Late(Deferred);

impl Subject for Late {
    type Tensor = Tensor;

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
        // The one place where the kit looks at a tensor.
        let _window = self.0.window();
        Ok(self.0.to_bits(tensor)?)
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> Result<Tensor, Refusal> {
        Ok(Autocast::cast(&self.0, tensor, to)?)
    }

    fn unscale(
        &self,
        grads: NamedGrads<Tensor>,
        scale: ScaleState,
    ) -> Result<Unscaled<Tensor>, Refusal> {
        via::unscale(&self.0, grads, scale)
    }

    fn update_scale(
        &self,
        rule: &LossScale,
        scale: ScaleState,
        round: &Round,
    ) -> Result<ScaleState, Refusal> {
        via::update_scale(self, &self.0, rule, scale, round)
    }

    fn train(
        &self,
        params: Vec<Named<Tensor>>,
        turns: Vec<Turn<Tensor>>,
    ) -> Result<Vec<Named<Tensor>>, Refusal> {
        let before = self.0.reads();
        let trained = via::train(&self.0, params, turns)?;
        assert_eq!(self.0.reads(), before, "steps read nothing");
        Ok(trained)
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

#[test]
fn the_device_that_runs_late_keeps_every_contract() {
    let report = Runner::from_env().require("deferred").run(&Late(Deferred::strict()));
    println!("{report}");
    report.assert_success();
}
