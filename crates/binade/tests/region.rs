//! O1 casts by one table, Apex's, on every device.

use binade::OptLevel::{O0, O1};
use binade::Setup;
use binade::cast_policy::OpCall;
use binade::core::DType::{BF16, F16, F32};
use binade::prelude::*;
use binade_cpu::{Cpu, Tensor};
use std::convert::Infallible;

/// Tensor of another library, which knows its type and nothing else.
#[derive(Clone)]
struct Bare(DType);

impl AmpTensor for Bare {
    type Error = Infallible;
    fn dtype(&self) -> DType {
        self.0
    }
    fn cast(&self, to: DType) -> Result<Self, Infallible> {
        Ok(Self(to))
    }
    fn map_f32(&mut self, _: &mut dyn FnMut(usize, f32) -> f32) {}
}

#[test]
fn o1_decides_as_apexs_table_does_for_every_operation() {
    let table = OpTable::apex_o1();
    for dtype in [BF16, F16] {
        let region = Setup::new(Cpu, O1.with(dtype)).unwrap().region;
        assert!(region.enabled);
        for (&op, types) in
            Op::ALL.iter().flat_map(|op| [[F32, F32], [dtype, F32]].map(|types| (op, types)))
        {
            let call = OpCall::new(op, &types);
            assert_eq!(region.policy().rule(&call), table.rule(&call), "{}", op.name());
            assert_eq!(region.decide(&call), table.rule(&call).decide(&call, dtype));
        }
    }
}

#[test]
fn o1_casts_the_same_on_every_device() {
    let bare = HostDevice::<Bare>::new();
    let region = Setup::new(Cpu, O1.with(F16)).unwrap().region;
    assert_eq!(Setup::new(&bare, O1.with(F16)).unwrap().region.dtype(), region.dtype());
    let (here, there) = (region.open(&Cpu), region.open(&bare));
    for &op in Op::ALL {
        for (left, right) in [(F32, F32), (F16, F32), (F16, F16)] {
            let [x, y] = [left, right].map(|d| Tensor::scalar(1.0_f32).cast(d).unwrap());
            let ours = here.cast(op, "", [&x, &y]).unwrap().map(|t| t.dtype());
            let (x, y) = (Bare(left), Bare(right));
            let theirs = there.cast(op, "", [&x, &y]).unwrap().map(|t| t.dtype());
            assert_eq!(ours, theirs, "{} of {left} and {right}", op.name());
        }
    }
}

#[test]
fn o0_casts_no_operation() {
    let region = Setup::new(Cpu, O0.with(F16)).unwrap().region;
    for &op in Op::ALL {
        let decision = region.decide(&OpCall::new(op, &[F32, F16])).unwrap();
        assert_eq!((decision.operands, decision.output), (None, None), "{}", op.name());
    }
}
