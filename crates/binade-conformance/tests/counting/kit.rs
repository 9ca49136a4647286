//! The kit on a strict wrapper: every trait goes through it, and only the kit's own reads of bits need a window.

use binade_autocast::Autocast;
use binade_conformance::counting::Counting;
use binade_conformance::{
    OpInvocation, Result, Runner, SetCall, SetResult, SparseResult, SparseRun, Subject, compute,
    multi_tensor, sparse,
};
use binade_core::{DType, Named, stochastic::Key};
use binade_cpu::{Cpu, Tensor};

struct Strict(Counting<Cpu>);

impl Subject for Strict {
    type Handle = Counting<Cpu>;

    fn handle(&self) -> Option<&Counting<Cpu>> {
        Some(&self.0)
    }

    fn name(&self) -> &'static str {
        "counting"
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor> {
        Ok(Tensor::from_bits(bits, dtype, shape)?)
    }

    fn to_bits(&self, tensor: &Tensor) -> Result<Vec<u8>> {
        Ok(tensor.to_bits())
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> Result<Tensor> {
        Ok(Autocast::cast(&self.0, tensor, to)?)
    }

    fn cast_stochastic(&self, tensor: &Tensor, to: DType, key: Key) -> Result<Tensor> {
        Ok(self.0.as_ref().cast_stochastic(tensor, to, key)?)
    }

    fn multi_tensor(
        &self,
        call: &SetCall,
        x: &[Named<Tensor>],
        y: &[Named<Tensor>],
    ) -> Result<SetResult<Tensor>> {
        multi_tensor(&self.0, call, x, y)
    }

    fn sparse(&self, run: SparseRun<Tensor>) -> Result<SparseResult<Tensor>> {
        sparse(&self.0, run)
    }

    fn compute(&self, op: &OpInvocation, operands: &[&Tensor]) -> Result<Vec<Tensor>> {
        compute(&self.0, op, operands)
    }
}

#[test]
fn a_strict_wrapper_keeps_every_contract() {
    let views = "views_are_read_in_row_major_order";
    let runner = Runner::from_env().excuse(views, "its tensors lie row after row, without strides");
    let device = Strict(Counting::strict(Cpu));
    let report = runner.require_all().run(&device);
    println!("{report}\n{}", device.0);
    report.assert_success();
    let reads = device.0.calls().into_iter().filter(|calls| calls.place.is_some());
    assert!(reads.map(|calls| calls.method).all(|method| method == "read"), "{}", device.0);
}
