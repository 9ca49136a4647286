//! Casts at the operation boundary, as torch's own autocast tests check them for every listed operation.

use crate::common::Host;
use binade_autocast::{Autocast, CastError, CastStats, Region, Scope};
use binade_cast_policy::{CastRule, Category, Condition, OpCall, OpTable, Overrides, PolicyError};
use binade_core::{
    AmpTensor, DType, Error, ErrorKind, Handle, HostDevice, HostTensor, HostTypeError, Op, OpClass,
};
use std::borrow::Cow;
use std::sync::Arc;

const BF16: DType = DType::BF16;
const F16: DType = DType::F16;
const F32: DType = DType::F32;

fn op(name: &'static str) -> Op {
    Op::custom(name, OpClass::Other)
}

fn dtypes<const N: usize>(operands: [Cow<'_, Host>; N]) -> [DType; N] {
    operands.map(|operand| operand.dtype)
}

#[test]
fn a_rule_on_sizes_reaches_a_tensor_of_ones_own_that_tells_its_shape() {
    let long =
        Condition { op: Some("sum".into()), reduction_above: Some(8), ..Condition::default() };
    let policy =
        Overrides::over(OpTable::torch_cuda()).when(long, CastRule::Banned("split it".into()));
    let (region, device) = (Region::new(BF16, policy).unwrap(), HostDevice::new());
    let scope = region.open(&device);
    let sum =
        |len: usize| scope.cast(Op::SUM, "", [&HostTensor::from(vec![1.0_f32; len])]).map(drop);
    assert!(sum(8).is_ok());
    assert!(sum(9).is_err());
}

#[test]
fn every_listed_operation_gives_the_bits_of_a_cast_by_hand() {
    let (device, table) = (HostDevice::new(), OpTable::torch_cuda());
    let (x, w) = (Host::f32(&[1.001, -3.7, 1e-5]), Host::f32(&[0.33, 7.77, 1e4]));
    let mut compared = 0;
    for region in [Region::bf16(), Region::f16()] {
        let scope = region.open(&device);
        let low = (x.cast(region.dtype()).unwrap(), w.cast(region.dtype()).unwrap());
        for (category, to, x, w) in [
            (Category::Lower, region.dtype(), &x, &w),
            (Category::F32, F32, &low.0, &low.1),
            (Category::F32Output, F32, &low.0, &low.1),
            (Category::Promote, F32, &x, &low.1),
            (Category::BuiltinPromote, F32, &low.0, &w),
        ] {
            for name in table.listed(category) {
                let [a, b] = scope.cast(op(name), "", [x, w]).unwrap();
                let by_hand = x.cast(to).unwrap().dot(&w.cast(to).unwrap());
                let result = a.dot(&b);
                assert_eq!((result.dtype, result.bits()), (to, by_hand.bits()), "{name}");
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn f64_integers_and_booleans_pass_untouched() {
    let device = HostDevice::new();
    let scope = Region::f16().open(&device);
    for dtype in [DType::F64, DType::I64, DType::I32, DType::U8, DType::Bool] {
        let (other, x) = (Host::new(dtype, &[3.0]), Host::f32(&[1.0]));
        for name in ["matmul", "exp", "softmax", "scatter_add", "add"] {
            let [passed] = scope.cast(op(name), "", [&other]).unwrap();
            assert!(matches!(passed, Cow::Borrowed(_)), "{dtype} {name}");
        }
        let [passed, cast] = scope.cast(Op::MATMUL, "", [&other, &x]).unwrap();
        assert_eq!(dtypes([passed, cast]), [dtype, F16]);
    }
}

#[test]
fn operands_that_need_no_cast_are_borrowed() {
    let device = HostDevice::new();
    let low = Host::new(BF16, &[1.0]);
    let [same] = Region::bf16().open(&device).cast(Op::MATMUL, "", [&low]).unwrap();
    assert!(matches!(same, Cow::Borrowed(tensor) if std::ptr::eq(tensor, &raw const low)));
}

#[test]
fn promotion_finds_the_widest_of_any_number_of_operands() {
    let device = HostDevice::new();
    let scope = Region::bf16().open(&device);
    let (low, wide, index) =
        (Host::new(BF16, &[1.0]), Host::f32(&[1.0]), Host::new(DType::I64, &[0.0]));
    let mixed = scope.cast_all(&op("cat").into(), &[&low, &low, &wide, &index]).unwrap();
    let types: Vec<_> = mixed.iter().map(|t| t.dtype).collect();
    assert_eq!(types, [F32, F32, F32, DType::I64]);
    let alike = scope.cast_all(&op("cat").into(), &[&low, &low]).unwrap();
    assert!(alike.iter().all(|tensor| matches!(tensor, Cow::Borrowed(_))));
}

#[test]
fn a_kernel_that_widens_inside_is_given_its_operands_as_they_are() {
    let device = HostDevice::new();
    let scope = Region::f16().open(&device);
    let x = Host::new(F16, &[1.0]);
    let (operands, output) = scope.prepare(&OpCall::new(Op::SOFTMAX, &[]), &[&x]).unwrap();
    assert_eq!((operands[0].dtype, output), (F16, Some(F32)));
    let [cast] = scope.cast(Op::SOFTMAX, "", [&x]).unwrap();
    assert_eq!(cast.dtype, F32);
}

#[test]
fn a_scope_inside_casts_by_its_own_region() {
    let device = HostDevice::new();
    let outer = Region::bf16().open(&device);
    let x = Host::f32(&[1.0]);
    let lowered = |scope: &Scope<'_, HostDevice<Host>>| {
        let [cast] = scope.cast(Op::MATMUL, "", [&x]).unwrap();
        cast.dtype
    };
    let off = outer.within(outer.region.off());
    let f16 = off.within(Region::f16());
    assert_eq!([&outer, &off, &f16, &outer].map(lowered), [BF16, F32, F16, BF16]);
}

#[test]
fn two_devices_have_two_regions() {
    let (host, other) = (HostDevice::<Host>::new(), crate::common::Device::default());
    let (low, off) = (Region::bf16().open(&host), Region::f16().off().open(&other));
    let (x, p) = (Host::f32(&[1.0]), other.parameter(&[1.0]));
    let [x] = low.cast(Op::MATMUL, "", [&x]).unwrap();
    let [p] = off.cast(Op::MATMUL, "", [&p]).unwrap();
    assert_eq!((x.dtype, p.host.dtype), (BF16, F32));
}

#[test]
fn a_banned_operation_is_refused_by_name_with_advice() {
    let device = HostDevice::new();
    let p = Host::new(F16, &[0.5]);
    let banned =
        Region::f16().open(&device).cast(op("binary_cross_entropy"), "head.loss", [&p, &p]);
    let banned = banned.unwrap_err();
    assert_eq!(banned.kind(), ErrorKind::Unsupported);
    let said = banned.to_string();
    let start = "`binary_cross_entropy` at `head.loss` is banned in an autocast region: ";
    assert!(said.starts_with(start) && said.contains("binary_cross_entropy_with_logits"), "{said}");
}

#[test]
fn a_foreign_sixteen_bit_type_is_a_promotion_conflict_whatever_the_order() {
    let device = HostDevice::new();
    let scope = Region::f16().open(&device);
    let (foreign, wide) = (Host::new(BF16, &[1.0]), Host::f32(&[1.0]));
    for (operands, at) in [([&foreign, &wide], 0), ([&wide, &foreign], 1)] {
        let refused = scope.cast(op("scatter_add"), "", operands).unwrap_err();
        let CastError::Refused(PolicyError::Conflict { operand, .. }) = refused else {
            panic!("{refused}")
        };
        assert_eq!(operand, at);
    }
    let own = Host::new(F16, &[1.0]);
    let [a, b] = scope.cast(op("add"), "", [&foreign, &own]).unwrap();
    assert_eq!(dtypes([a, b]), [F32, F32]);
}

#[test]
fn a_devices_error_comes_with_the_operation_the_operand_and_the_types() {
    let device = HostDevice::<Host>::new();
    let policy = OpTable::empty().register("matmul", binade_cast_policy::CastRule::To(DType::E4M3));
    let scope = Region::bf16().with_policy(policy).unwrap();
    let scope = scope.open(&device);
    let (index, x) = (Host::new(DType::I64, &[1.0]), Host::f32(&[1.0]));
    let failed = scope.cast(Op::MATMUL, "head", [&index, &x]).unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Unsupported);
    assert_eq!(
        failed.to_string(),
        "casting operand 1 of `matmul` at `head` from f32 to e4m3: no elements of type e4m3"
    );
    assert!(std::error::Error::source(&failed).is_some());
}

/// Device with the required methods alone.
struct Bare;

impl Handle for Bare {
    type Tensor = HostTensor;
    type Error = HostTypeError;
}

impl Autocast for Bare {
    fn dtype(&self, tensor: &HostTensor) -> DType {
        tensor.dtype()
    }

    fn cast(&self, tensor: &HostTensor, to: DType) -> Result<HostTensor, HostTypeError> {
        AmpTensor::cast(tensor, to)
    }
}

#[test]
fn a_device_that_tells_no_sizes_and_no_identity_casts_at_each_use_and_passes_rules_on_sizes() {
    let long =
        Condition { op: Some("sum".into()), reduction_above: Some(0), ..Condition::default() };
    let policy =
        Overrides::over(OpTable::torch_cuda()).when(long, CastRule::Banned("split it".into()));
    let (region, x) = (Region::new(F16, policy).unwrap(), HostTensor::from(vec![1.0_f32; 3]));
    assert_eq!((Bare.cache_key(&x), Bare.extents(&x), Bare.elements(&x)), (None, None, None));
    let (scope, stats) = (region.open(&Bare), Arc::new(CastStats::default()));
    let scope = scope.with_stats(stats.clone());
    for _ in 0..2 {
        let [low, same] = scope.cast(Op::MATMUL, "", [&x, &x]).unwrap();
        assert_eq!((low.dtype(), same.dtype(), scope.kept()), (F16, F16, 0));
    }
    let total = stats.total();
    assert_eq!((total.casts, total.reused, total.unsized_casts), (4, 0, 4));
    assert!(scope.cast(Op::SUM, "", [&x]).is_ok(), "no size is stated that the rule could go by");
}

#[test]
fn a_tensor_of_ones_own_that_changes_inside_a_region_is_cast_anew() {
    let (device, mut w) = (HostDevice::new(), Host::f32(&[1.0, 2.0]));
    let scope = Region::bf16().open(&device);
    let seen = |w: &Host| scope.cast(Op::MATMUL, "", [w]).unwrap().map(Cow::into_owned);
    assert_eq!(seen(&w)[0].data, [1.0, 2.0]);
    w.map_f32(&mut |_, x| x + 1.0);
    let [cast] = seen(&w);
    assert_eq!((cast.dtype, cast.data, scope.kept()), (BF16, vec![2.0, 3.0], 0));
    assert_eq!(device.version(&w), None, "no write to it is counted, so that a tape keeps no cast");
}

#[test]
fn a_scope_prints_its_region_and_how_many_casts_it_keeps() {
    let device = crate::common::Device::default();
    let scope = Region::f16().open(&device);
    scope.cast(Op::MATMUL, "", [&device.parameter(&[1.0])]).unwrap();
    let said = format!("{scope:?}");
    assert!(said.starts_with("Scope { region: Region { enabled: true, dtype: F16, "), "{said}");
    assert!(said.ends_with("kept: 1, .. }"), "{said}");
}
