//! Region as a value, and its decisions.

use binade_autocast::Region;
use binade_cast_policy::{
    CastPolicy, CastRule, Condition, OpCall, OpTable, Overrides, PolicyError,
};
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
    let inner = Region::f16();
    let again = Region::new(BF16, inner.policy().clone()).unwrap();
    let decided = [&outer, &off, &inner, &again, &outer].map(lowered);
    assert_eq!(decided, [Some(BF16), None, Some(F16), Some(BF16), Some(BF16)]);
}

#[test]
fn a_region_that_is_off_casts_nothing_bans_nothing_and_refuses_nothing() {
    let off = Region::f16().with_policy(OpTable::torch_cuda().strict()).unwrap().off();
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
    for eight_bits in [DType::E4M3, DType::E5M2] {
        let said = refused(eight_bits).to_string();
        assert!(
            said.ends_with("need a scale of their own, which a region does not carry"),
            "{said}"
        );
    }
    assert!(refused(DType::U8).to_string().contains("it is no floating-point type"));
    for dtype in [DType::I64, DType::I32, DType::U8, DType::Bool, DType::E4M3, DType::E5M2] {
        assert!(
            matches!(refused(dtype), PolicyError::Region { dtype: named, .. } if named == dtype)
        );
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
        .path("head.**", CastRule::Banned("not here".into()))
        .path("encoder.*.norm", CastRule::F32);
    let region = Region::f16().with_policy(Box::new(policy) as Box<dyn CastPolicy>).unwrap();
    let ban = Region::f16().policy().clone();
    let norm = OpCall { path: "encoder.0.norm", ..OpCall::new(Op::LAYER_NORM, &[F16]) };
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
fn a_policy_with_a_rule_that_can_never_apply_is_refused_when_the_region_is_made() {
    let when =
        Condition { op: Some("relu".into()), reduction_above: Some(2), ..Condition::default() };
    let policy = || Overrides::over(OpTable::torch_cuda()).when(when.clone(), CastRule::F32);
    let made = [Region::new(F16, policy()), Region::f16().with_policy(policy())];
    for refused in made.map(Result::unwrap_err) {
        assert!(matches!(refused, PolicyError::Inapplicable { .. }), "{refused}");
        assert!(refused.to_string().contains("no reduction length of `relu`"), "{refused}");
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn a_region_is_idle_until_an_operation_asks_it_or_one_made_of_it() {
    let matmul = OpCall::from(Op::MATMUL);
    let (region, other) = (Region::f16(), Region::f16());
    let off = region.off();
    off.decide(&matmul).unwrap();
    assert!(region.is_idle() && !off.is_idle(), "off asks nothing and is never idle");
    let policy = region.with_policy(OpTable::torch_cpu()).unwrap();
    policy.clone().decide(&matmul).unwrap();
    assert!(!region.is_idle() && !policy.is_idle());
    assert!(other.is_idle(), "a region of its own");
}

#[test]
fn a_region_goes_to_any_thread() {
    fn goes<T: Clone + Send + Sync + 'static>() {}
    goes::<Region>();
}
