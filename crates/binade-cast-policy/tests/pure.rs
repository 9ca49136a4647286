//! The trait's contract, checked for every policy of this crate.

use binade_cast_policy::{CastPolicy, CastRule, Condition, OpCall, OpTable, Overrides};
use binade_core::{DType, Op, OpClass};

fn policies() -> Vec<Box<dyn CastPolicy>> {
    let tables = OpTable::IDS.into_iter().map(|id| id.parse().expect("it is listed"));
    let layered = |table: OpTable| {
        Overrides::over(table.register("mine", CastRule::Banned("not here".into())).strict())
            .path("encoder.**.norm", CastRule::F32)
            .when(Condition { reduction_above: Some(2), ..Condition::default() }, CastRule::F32)
    };
    let both =
        |table: OpTable| [Box::new(table.clone()) as Box<dyn CastPolicy>, Box::new(layered(table))];
    tables.flat_map(both).collect()
}

fn calls() -> impl Iterator<Item = OpCall<'static>> {
    let named = ["mine", "binary_cross_entropy", "scatter_add", "softmax.int", "cpu"];
    let ops = named
        .map(|name| Op::custom(name, OpClass::Other))
        .into_iter()
        .chain(Op::ALL.iter().copied());
    ops.flat_map(|op| {
        let call = OpCall::new(op, &[DType::F16, DType::F32]);
        [call, OpCall { path: "encoder.0.norm", ..call }, OpCall { reduction: Some(3), ..call }]
    })
}

#[test]
fn a_rule_does_not_allocate() {
    for policy in policies() {
        let count = allocation_counter::measure(|| {
            for call in calls() {
                drop(policy.rule(&call));
            }
        });
        assert_eq!(count.count_total, 0, "{policy:?}");
    }
}

#[test]
fn asked_twice_it_answers_the_same() {
    for policy in policies() {
        for call in calls() {
            assert_eq!(policy.rule(&call), policy.rule(&call), "{policy:?} {call:?}");
            assert_eq!(policy.reason(&call), policy.reason(&call), "{policy:?} {call:?}");
        }
    }
}

#[test]
fn f64_integers_and_booleans_are_left_alone_whatever_it_answers() {
    let others = [DType::F64, DType::I64, DType::I32, DType::U8, DType::Bool];
    for policy in policies() {
        for call in calls().map(|call| OpCall { operands: &others, ..call }) {
            assert_eq!(policy.explain(&call, DType::BF16).casts, [], "{policy:?} {call:?}");
        }
    }
}
