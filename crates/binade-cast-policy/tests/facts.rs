//! Sizes that operations tell policies, and overrides by sizes that an operation does not have.

use binade_cast_policy::{CastPolicy, CastRule, Condition, OpCall, OpSizes, OpTable, Overrides};
use binade_core::{Error, ErrorKind, Op, OpClass};

fn told(op: Op, shapes: &[&[usize]]) -> (Option<u64>, Vec<u64>) {
    let shapes: Vec<_> = shapes.iter().copied().map(Some).collect();
    let facts = OpSizes::of(op, &shapes);
    let call = facts.complete(op.into());
    (call.reduction, call.extents.to_vec())
}

/// Operation, shapes of its operands, reduction length, and M, N and K.
type Row = (Op, &'static [&'static [usize]], Option<u64>, &'static [u64]);

#[test]
fn every_operation_tells_how_much_it_sums_and_products_their_extents() {
    let shapes: [Row; 13] = [
        (Op::MATMUL, &[&[2, 7], &[7, 5]], Some(7), &[2, 5, 7]),
        (Op::BMM, &[&[3, 2, 7], &[3, 7, 5]], Some(7), &[2, 5, 7]),
        (Op::LINEAR, &[&[3, 2, 7], &[5, 7], &[5]], Some(7), &[6, 5, 7]),
        (Op::LINEAR_RELU, &[&[7], &[5, 7]], Some(7), &[1, 5, 7]),
        (Op::CONV2D, &[&[2, 3, 9, 9], &[8, 3, 2, 5], &[8]], Some(30), &[]),
        (Op::LAYER_NORM, &[&[2, 3, 7], &[7], &[7]], Some(7), &[]),
        (Op::BATCH_NORM, &[&[4, 3, 2, 5]], Some(40), &[]),
        (Op::SOFTMAX, &[&[2, 7]], Some(7), &[]),
        (Op::LOG_SOFTMAX, &[&[7]], Some(7), &[]),
        (Op::CROSS_ENTROPY, &[&[2, 7], &[2]], Some(7), &[]),
        (Op::MSE_LOSS, &[&[2, 7], &[2, 7]], Some(14), &[]),
        (Op::SUM, &[&[2, 7]], Some(14), &[]),
        (Op::MEAN, &[&[]], Some(1), &[]),
    ];
    for (op, shapes, length, extents) in shapes {
        assert_eq!(told(op, shapes), (length, extents.to_vec()), "{op:?}");
    }
    let summing = shapes.map(|(op, ..)| op);
    for op in Op::ALL.iter().filter(|op| !summing.contains(op)) {
        assert!(matches!(op.class(), OpClass::Pointwise | OpClass::Shape), "{op:?} has no row");
        assert_eq!(told(*op, &[&[1, 1, 2, 7], &[7]]), (None, vec![]), "{op:?}");
    }
}

#[test]
fn shapes_that_are_not_known_do_not_fit_or_overflow_tell_nothing() {
    let nothing = (None, vec![]);
    assert_eq!(told(Op::MATMUL, &[]), nothing);
    assert_eq!(told(Op::SOFTMAX, &[&[]]), nothing);
    assert_eq!(told(Op::CONV2D, &[&[2, 3, 9, 9]]), nothing);
    assert_eq!(told(Op::BATCH_NORM, &[&[4]]), nothing);
    assert_eq!(told(Op::SUM, &[&[usize::MAX, 2]]), nothing);
    assert_eq!(OpSizes::of(Op::MATMUL, &[None::<&[usize]>, None]), OpSizes::default());
    // A vector by a matrix is no product of matrices, and sums all the same.
    assert_eq!(told(Op::MATMUL, &[&[7], &[7, 5]]), (Some(7), vec![]));
}

#[test]
fn what_a_call_states_itself_is_kept() {
    let facts = OpSizes::of(Op::SOFTMAX, &[Some([2, 7])]);
    let along_the_first = OpCall::new(Op::SOFTMAX, &[]).with_reduction(2);
    assert_eq!(facts.complete(along_the_first).reduction, Some(2));
    let facts = OpSizes::of(Op::MATMUL, &[Some([2, 7]), Some([7, 5])]);
    let call = OpCall { extents: &[8], ..Op::MATMUL.into() };
    assert_eq!(facts.complete(call).extents, [8]);
}

fn refused(when: Condition) -> Option<String> {
    let policy = Overrides::over(OpTable::torch_cuda()).when(when, CastRule::F32);
    // The check reaches through another layer, and through a pointer.
    let policy: Box<dyn CastPolicy> = Box::new(Overrides::over(policy).op("sum", CastRule::F32));
    policy
        .check()
        .map_err(|error| {
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            error.to_string()
        })
        .err()
}

#[test]
fn an_override_by_a_length_that_its_operation_does_not_have_is_refused() {
    let above = |op: Op| refused(Condition::always().op(op.name()).reduction_above(2));
    assert_eq!(
        above(Op::RELU).unwrap_or_default(),
        "the override for op `relu` and reduction length > 2 can never apply: `relu` sums no elements; go by its name or its path \
         alone"
    );
    let shapes: [&[usize]; 2] = [&[2, 3, 4, 4], &[3, 3, 2, 2]];
    for &op in Op::ALL {
        let below = refused(Condition::always().op(op.name()).reduction_below(2));
        let has = told(op, &shapes).0.is_some();
        assert_eq!((above(op).is_none(), below.is_none()), (has, has), "{op:?}");
        assert_eq!(refused(Condition::always().op(op.name()).path("head.*")), None);
    }
    assert_eq!(above(Op::custom("mine", OpClass::Reduce)), None, "it may sum as much as it likes");
}
