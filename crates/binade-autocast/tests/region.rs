//! The region as a value, and what it decides.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod common;

use binade_autocast::Region;
use binade_cast_policy::{CastPolicy, CastRule, OpCall, OpTable, Overrides};
use binade_core::{DType, Error, ErrorKind, Op, OpClass};

const BF16: DType = DType::BF16;
const F16: DType = DType::F16;
const F32: DType = DType::F32;

fn lowered(region: &Region) -> Option<DType> {
    region.decide(&OpCall::new(Op::MATMUL, &[F32, F32])).unwrap().operands
}

#[test]
fn nested_off_on_and_in_another_type() {
    let outer = Region::bf16();
    let off = outer.off();
    let inner = off.with_dtype(F16).unwrap();
    let again = inner.off().with_dtype(BF16).unwrap();
    let decided = [&outer, &off, &inner, &again, &outer].map(lowered);
    assert_eq!(decided, [Some(BF16), None, Some(F16), Some(BF16), Some(BF16)]);
}

#[test]
fn a_region_that_is_off_casts_nothing_bans_nothing_and_refuses_nothing() {
    let off = Region::f16().with_policy(OpTable::torch_cuda().strict()).off();
    for name in ["binary_cross_entropy", "nobody_knows_me", "matmul"] {
        let call = OpCall::new(Op::custom(name, OpClass::Other), &[F32, BF16]);
        assert_eq!(off.decide(&call).unwrap().operands, None, "{name}");
    }
}

#[test]
fn a_type_that_makes_no_sense_is_refused_and_the_error_says_why() {
    let refused = |dtype| Region::new(dtype, OpTable::torch_cpu()).unwrap_err();
    let said = refused(DType::F64);
    assert_eq!(
        said.to_string(),
        "a region cannot compute in f64: f64 is never cast; use bf16, f16 or f32"
    );
    assert_eq!(said.kind(), ErrorKind::InvalidArgument);
    for dtype in [DType::I64, DType::I32, DType::U8, DType::Bool, DType::E4M3, DType::E5M2] {
        assert_eq!(refused(dtype).dtype, dtype);
        assert!(Region::bf16().with_dtype(dtype).is_err());
    }
}

#[test]
fn an_f32_region_lowers_nothing_and_widens_sixteen_bits() {
    let region = Region::new(F32, OpTable::torch_cuda()).unwrap();
    let decision = region.decide(&OpCall::new(Op::MATMUL, &[F32, F16])).unwrap();
    assert_eq!((decision.cast(F32), decision.cast(F16)), (None, Some(F32)));
}

#[test]
fn a_decision_allocates_nothing() {
    let policy = Overrides::over(OpTable::torch_cuda().register("mine", CastRule::Lower))
        .path("head.**", CastRule::banned("not here"))
        .path("encoder.*.norm", CastRule::F32);
    let region = Region::f16().with_policy(Box::new(policy) as Box<dyn CastPolicy>);
    let ban = Region::f16().policy().clone();
    let norm = OpCall::new(Op::LAYER_NORM, &[F16]).with_path("encoder.0.norm");
    let bce = OpCall::new(Op::custom("binary_cross_entropy", OpClass::Loss), &[F16]);
    let count = allocation_counter::measure(|| {
        for name in ["mine", "softmax", "add", "scatter_add", "unknown"] {
            let call = OpCall::new(Op::custom(name, OpClass::Other), &[F16, F32]);
            assert!(region.decide(&call).is_ok());
        }
        assert_eq!(region.decide(&norm).unwrap().operands, Some(F32));
        assert!(matches!(ban.rule(&bce), CastRule::Banned(_)));
    });
    assert_eq!(count.count_total, 0);
}

#[test]
fn a_region_goes_to_any_thread() {
    fn goes<T: Clone + Send + Sync + 'static>() {}
    goes::<Region>();
    goes::<binade_autocast::Backward>();
}
