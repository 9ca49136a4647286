//! Operations with a backward of their own.

use crate::common::{Device, Param};
use binade_autocast::{Autocast, CustomOp, Region, Scope};
use binade_core::{DType, Op, OpClass};

const OP: Op = Op::custom("mine", OpClass::Other);
const F16: DType = DType::F16;
const F32: DType = DType::F32;

/// Returns the state of the scope's region and of the ambient one: true if on, and the type.
fn state(scope: &Scope<'_, Device>) -> [(bool, DType); 2] {
    let ambient = Region::ambient_for::<Device>().unwrap();
    [scope.region(), &ambient].map(|region| (region.is_on(), region.dtype()))
}

#[test]
fn without_cast_inputs_the_forward_runs_in_the_scope_it_is_called_in() {
    let device = Device::default();
    let x = device.activation(F32, &[1.0]);
    for region in [Region::f16(), Region::f16().off(), Region::bf16()] {
        let scope = region.open(&device);
        let run = |scope: &Scope<'_, Device>, [x]: [std::borrow::Cow<'_, Param>; 1]| {
            (state(scope), x.host.dtype)
        };
        let ((seen, dtype), backward) = CustomOp::new(OP).forward(&scope, [&x], run).unwrap();
        assert_eq!((seen, dtype), ([(region.is_on(), region.dtype()); 2], F32));
        assert_eq!(backward.run(&device, state), seen);
    }
}

#[test]
fn with_cast_inputs_operands_are_cast_and_the_forward_runs_with_autocast_off() {
    let device = Device::default();
    let (x, wide) = (device.activation(F16, &[1.0]), device.activation(DType::F64, &[1.0]));
    let scope = Region::f16().open(&device);
    let (seen, backward) = CustomOp::new(OP)
        .cast_inputs(F32)
        .forward(&scope, [&x, &wide], |scope, operands| {
            (state(scope), operands.map(|operand| operand.host.dtype))
        })
        .unwrap();
    assert_eq!(seen, ([(false, F16); 2], [F32, DType::F64]));
    assert_eq!(backward.run(&device, state), [(false, F16); 2]);
}

#[test]
fn with_cast_inputs_where_the_region_is_off_nothing_is_cast() {
    let device = Device::default();
    let x = device.activation(F16, &[1.0]);
    let scope = Region::f16().off().open(&device);
    let custom = CustomOp::new(OP).cast_inputs(F32);
    let (dtype, _) = custom.forward(&scope, [&x], |_, [x]| x.host.dtype).unwrap();
    assert_eq!((dtype, device.casts()), (F16, 0));
}

#[test]
fn the_backward_is_given_the_forwards_region_whatever_the_thread_is_in() {
    let device = Device::default();
    let x = device.activation(F32, &[1.0]);
    let scope = Region::bf16().open(&device);
    let ((), backward) = CustomOp::new(OP).forward(&scope, [&x], |_, _| ()).unwrap();
    drop(scope);
    let lowered = |scope: &Scope<'_, Device>| {
        let [x] = scope.cast(Op::MATMUL, "", [&x]).unwrap();
        scope.device().dtype(&x)
    };
    let _elsewhere = Region::f16().enter();
    assert_eq!(backward.run(&device, lowered), DType::BF16);
    let there = std::thread::scope(|threads| {
        threads.spawn(|| backward.run(&device, lowered)).join().unwrap()
    });
    assert_eq!(there, DType::BF16);
    assert_eq!(Region::ambient().unwrap().dtype(), F16);
}

#[test]
fn a_recomputed_forward_runs_in_the_same_state_as_the_first() {
    let device = Device::default();
    let w = device.parameter(&[1.0 / 3.0]);
    let block = |scope: &Scope<'_, Device>| {
        let [w] = scope.cast(Op::MATMUL, "", [&w]).unwrap();
        (w.host.dtype, w.host.bits())
    };
    let scope = Region::bf16().open(&device);
    let (first, checkpoint) =
        CustomOp::new(OP).forward(&scope, [], |scope, []| block(scope)).unwrap();
    assert_eq!(checkpoint.run(&device, block), first);
}

#[test]
fn inputs_cannot_be_cast_to_integers() {
    let device = Device::default();
    let x = device.activation(F32, &[1.0]);
    let scope = Region::f16().open(&device);
    let refused = CustomOp::new(OP).cast_inputs(DType::I64).forward(&scope, [&x], |_, _| ());
    let said = refused.unwrap_err().to_string();
    assert!(said.starts_with("operands of `mine` cannot be cast to i64"), "{said}");
}
