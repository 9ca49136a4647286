//! Exceptions over policies, and the words of explanations.

use binade_cast_policy::{
    CastPolicy, CastRule, Condition, OpCall, OpTable, Overrides, PlannedCast, Uneven,
};
use binade_core::{DType, Op, OpClass};
use std::sync::Arc;

const F32_PAIR: &[DType] = &[DType::F32, DType::F32];

fn matmul(path: &str) -> OpCall<'_> {
    OpCall { path, ..OpCall::new(Op::MATMUL, F32_PAIR) }
}

#[test]
fn the_most_recent_override_wins_whatever_it_depends_on() {
    let policy = Overrides::over(OpTable::torch_cuda())
        .path("head.**", CastRule::Untouched)
        .op("matmul", CastRule::F32)
        .path("head.last", CastRule::To(DType::BF16));
    assert_eq!(policy.rule(&matmul("head.first")), CastRule::F32);
    assert_eq!(policy.rule(&matmul("head.last")), CastRule::To(DType::BF16));
    assert_eq!(policy.rule(&OpCall::new(Op::BMM, F32_PAIR)), CastRule::Lower);
}

#[test]
fn a_layer_over_a_layer_answers_first() {
    let inner = Overrides::over(OpTable::torch_cuda()).op("matmul", CastRule::F32);
    let outer = Overrides::over(inner).path("head.**", CastRule::Lower);
    assert_eq!(outer.rule(&matmul("head.0")), CastRule::Lower);
    assert_eq!(outer.rule(&matmul("body.0")), CastRule::F32);
}

#[test]
fn an_override_applies_where_all_of_its_parts_hold() {
    let when = Condition {
        op: Some("sum".into()),
        path: Some("loss.*".into()),
        reduction_above: Some(2),
        reduction_below: Some(9),
    };
    let of = |when| Overrides::over(OpTable::empty()).when(when, CastRule::F32);
    let (all, policy) = (of(Condition::default()), of(when));
    let holds = |call: OpCall<'_>| policy.rule(&call) == CastRule::F32;
    let sum =
        |length| OpCall { path: "loss.total", reduction: Some(length), ..OpCall::from(Op::SUM) };
    assert_eq!([2, 3, 8, 9].map(|length| holds(sum(length))), [false, true, true, false]);
    assert!(!holds(OpCall { reduction: None, ..sum(3) }), "an unknown length");
    assert!(!holds(OpCall { path: "body.total", ..sum(3) }));
    assert!(!holds(OpCall { op: Op::MEAN, ..sum(3) }));
    assert_eq!(all.rule(&sum(3)), CastRule::F32);
}

#[test]
fn a_strict_table_under_an_override_is_not_asked_for_what_the_override_covers() {
    let policy = Overrides::over(OpTable::empty().strict()).op("relu", CastRule::Untouched);
    assert_eq!(policy.rule(&OpCall::new(Op::RELU, &[])), CastRule::Untouched);
    assert_eq!(policy.rule(&OpCall::new(Op::GELU, &[])), CastRule::Unlisted);
}

#[test]
fn an_explanation_names_the_list_the_rule_and_every_cast_with_its_bytes() {
    let linear = OpCall::new(Op::LINEAR, &[DType::BF16, DType::F32, DType::F32]);
    let call = OpCall { path: "head", elements: &[64, 1280, 10], ..linear };
    let explanation = OpTable::torch_cuda().explain(&call, DType::BF16);
    assert_eq!(
        explanation.to_string(),
        "`linear` at `head` in a bf16 region: lower, because torch CUDA has `linear` on its lower precision list. \
         It casts operand 1 from f32 to bf16 (2560 bytes), operand 2 from f32 to bf16 (20 bytes)."
    );
    let (from, to) = (DType::F32, DType::BF16);
    let casts = [
        PlannedCast { operand: 1, from, to, bytes: Some(2560) },
        PlannedCast { operand: 2, from, to, bytes: Some(20) },
    ];
    assert_eq!(explanation.casts, casts);
}

#[test]
fn an_explanation_names_the_override_that_matched() {
    let policy = Overrides::over(OpTable::torch_cpu()).path("encoder.*.norm", CastRule::F32);
    let norm = OpCall::new(Op::LAYER_NORM, &[DType::BF16]);
    let norm = OpCall { path: "encoder.0.norm", ..norm };
    assert_eq!(
        policy.explain(&norm, DType::BF16).to_string(),
        "`layer_norm` at `encoder.0.norm` in a bf16 region: f32, because an override says so \
         (path `encoder.*.norm`). It casts operand 0 from bf16 to f32."
    );
    assert_eq!(
        policy.explain(&OpCall { path: "", ..norm }, DType::BF16).to_string(),
        "`layer_norm` in a bf16 region: untouched, because torch CPU has `layer_norm` on no list. No operand is cast."
    );
}

#[test]
fn an_explanation_of_a_conflict_says_what_to_do() {
    let cat = OpCall::new(Op::custom("cat", OpClass::Shape), &[DType::F32, DType::F16]);
    let explanation = OpTable::torch_cpu().explain(&cat, DType::BF16);
    assert_eq!(
        explanation.to_string(),
        "`cat` in a bf16 region: promote, region's type only, because torch CPU has `cat` on its promote list. \
         It is refused: operand 1 of `cat` is f16 in a bf16 region, which this policy does not promote: \
         cast it to bf16 or f32 first, or override the rule with `CastRule::Promote`."
    );
    assert!(explanation.casts.is_empty());
}

#[derive(Debug)]
struct Untouched;

impl CastPolicy for Untouched {
    fn rule(&self, _: &OpCall<'_>) -> CastRule {
        CastRule::Untouched
    }
}

#[test]
fn a_policy_of_ones_own_that_gives_no_reason_is_explained_as_such() {
    assert_eq!(
        Untouched.explain(&matmul(""), DType::F16).to_string(),
        "`matmul` in a f16 region: untouched, because the policy says so and gives no reason. No operand is cast."
    );
    assert!(Untouched.check().is_ok());
}

#[test]
fn pointers_forward_every_method() {
    let mut table = OpTable::torch_cuda();
    let call = matmul("");
    let said = table.explain(&call, DType::F16).to_string();
    let boxed: Box<dyn CastPolicy> = Box::new(table.clone());
    let shared: Arc<dyn CastPolicy> = Arc::new(table.clone());
    let borrowed = &mut table;
    for policy in [&borrowed as &dyn CastPolicy, &boxed, &shared] {
        assert_eq!(policy.rule(&call), CastRule::Lower);
        assert_eq!(policy.explain(&call, DType::F16).to_string(), said);
    }
}

#[test]
fn an_explanation_tells_a_products_extents_that_are_not_whole_pieces() {
    let explained = |extents: Option<[u64; 3]>, given: DType, region| {
        let operands = [given, given];
        let call = OpCall { extents, ..OpCall::new(Op::LINEAR, &operands) };
        OpTable::torch_cuda().explain(&call, region)
    };
    // An operand cast to sixteen bits counts as such.
    let said = explained(Some([64, 33, 130]), DType::F32, DType::F16);
    let uneven = Uneven { extents: vec![33, 130], dtype: DType::F16 };
    assert_eq!(said.uneven, Some(uneven));
    assert!(said.to_string().ends_with(
        "Of its product's extents [33, 130] are no multiples of 8, so that rows of f16 begin between pieces of 16 bytes: it is \
         right, and slower than it would be padded."
    ));
    assert_eq!(explained(Some([64, 40, 8]), DType::F32, DType::F16).uneven, None);
    assert_eq!(explained(None, DType::F32, DType::BF16).uneven, None);
    // An f32 product is fed to no matrix unit, and a call without extents is no product.
    let layer_norm = OpCall::new(Op::LAYER_NORM, &[DType::F32]).with_shapes(&[Some([3, 33])]);
    assert_eq!(OpTable::torch_cuda().explain(&layer_norm, DType::F16).uneven, None);
}
