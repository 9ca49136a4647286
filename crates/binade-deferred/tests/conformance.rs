//! The CPU run late as the kit's second subject: the same contracts, and no read but where the kit asks for bits or for
//! what was found. The device is strict: a read that nobody announced fails its case.

use binade_autocast::Autocast;
use binade_conformance::via::Device;
use binade_conformance::{Arithmetic, Refusal, Runner};
use binade_core::{DType, stochastic::Key};
use binade_deferred::{Deferred, Tensor};
use binade_ops::{MatMul, Mean, Sum};

struct Late(Deferred);

impl Device for Late {
    type Handle = Deferred;

    fn handle(&self) -> &Deferred {
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
        // The one place where the kit looks at a tensor.
        let _window = self.0.window();
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

#[test]
fn the_device_that_runs_late_keeps_every_contract() {
    let report = Runner::from_env().require("deferred").run(&Late(Deferred::strict()));
    println!("{report}");
    report.assert_success();
}
