//! Sizes that operations tell policies, and overrides by sizes that an operation does not have.

use binade_cast_policy::{CastPolicy, CastRule, Condition, OpCall, OpTable, Overrides};
use binade_core::{Error, ErrorKind, Op, OpClass};

fn sizes(op: Op, shapes: &[&[usize]]) -> (Option<u64>, Option<[u64; 3]>) {
    let shapes: Vec<_> = shapes.iter().copied().map(Some).collect();
    let call = OpCall::from(op).with_shapes(&shapes);
    (call.reduction, call.extents)
}

/// Operation, shapes of its operands, reduction length, and M, N and K.
type Row = (Op, &'static [&'static [usize]], Option<u64>, Option<[u64; 3]>);

#[test]
fn every_operation_tells_how_much_it_sums_and_products_their_extents() {
    let shapes: [Row; 18] = [
        (Op::MATMUL, &[&[2, 7], &[7, 5]], Some(7), Some([2, 5, 7])),
        (Op::BMM, &[&[3, 2, 7], &[3, 7, 5]], Some(7), Some([2, 5, 7])),
        (Op::LINEAR, &[&[3, 2, 7], &[5, 7], &[5]], Some(7), Some([6, 5, 7])),
        (Op::LINEAR_RELU, &[&[7], &[5, 7]], Some(7), Some([1, 5, 7])),
        (Op::CONV2D, &[&[2, 3, 9, 9], &[8, 3, 2, 5], &[8]], Some(30), None),
        (Op::SCALED_DOT_PRODUCT_ATTENTION, &[&[3, 7], &[9, 7], &[9, 4]], Some(9), None),
        (Op::LAYER_NORM, &[&[2, 3, 7], &[7], &[7]], Some(7), None),
        (Op::RMS_NORM, &[&[2, 3, 7], &[7]], Some(7), None),
        (Op::BATCH_NORM, &[&[4, 3, 2, 5]], Some(40), None),
        (Op::SOFTMAX, &[&[2, 7]], Some(7), None),
        (Op::LOG_SOFTMAX, &[&[7]], Some(7), None),
        (Op::CROSS_ENTROPY, &[&[2, 7], &[2]], Some(7), None),
        (Op::MSE_LOSS, &[&[2, 7], &[2, 7]], Some(14), None),
        (Op::SUM, &[&[2, 7]], Some(14), None),
        (Op::MEAN, &[&[]], Some(1), None),
        (Op::GROUP_NORM, &[&[2, 4, 3], &[4], &[4]], None, None),
        (Op::AVG_POOL2D, &[&[2, 3, 4, 4]], None, None),
        (Op::ADAPTIVE_AVG_POOL2D, &[&[2, 3, 4, 4]], None, None),
    ];
    for (op, shapes, length, extents) in shapes {
        assert_eq!(sizes(op, shapes), (length, extents), "{op:?}");
    }
    let summing = shapes.map(|(op, ..)| op);
    let summing_nothing = [OpClass::Exponential, OpClass::Pointwise, OpClass::Shape];
    for op in Op::ALL.iter().filter(|op| !summing.contains(op)) {
        assert!(summing_nothing.contains(&op.class()), "{op:?} has no row");
        assert_eq!(sizes(*op, &[&[1, 1, 2, 7], &[7]]), (None, None), "{op:?}");
    }
}

#[test]
fn shapes_that_are_not_known_do_not_fit_or_overflow_tell_nothing() {
    let nothing = (None, None);
    assert_eq!(sizes(Op::MATMUL, &[]), nothing);
    assert_eq!(sizes(Op::SOFTMAX, &[&[]]), nothing);
    assert_eq!(sizes(Op::CONV2D, &[&[2, 3, 9, 9]]), nothing);
    assert_eq!(sizes(Op::BATCH_NORM, &[&[4]]), nothing);
    assert_eq!(sizes(Op::SUM, &[&[usize::MAX, 2]]), nothing);
    let unknown = OpCall::from(Op::MATMUL).with_shapes(&[None::<&[usize]>, None]);
    assert_eq!((unknown.reduction, unknown.extents), nothing);
    // A vector by a matrix is no product of matrices, and sums all the same.
    assert_eq!(sizes(Op::MATMUL, &[&[7], &[7, 5]]), (Some(7), None));
}

#[test]
fn what_a_call_states_itself_is_kept() {
    let along_the_first = OpCall { reduction: Some(2), ..Op::SOFTMAX.into() };
    assert_eq!(along_the_first.with_shapes(&[Some([2, 7])]).reduction, Some(2));
    let call = OpCall { extents: Some([8, 8, 8]), ..Op::MATMUL.into() };
    assert_eq!(call.with_shapes(&[Some([2, 7]), Some([7, 5])]).extents, Some([8, 8, 8]));
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
    let of = |op: Op| Condition { op: Some(op.name().into()), ..Condition::default() };
    let above = |op| refused(Condition { reduction_above: Some(2), ..of(op) });
    assert_eq!(
        above(Op::RELU).unwrap_or_default(),
        "the override for op `relu` and reduction length > 2 can never apply: shapes tell no reduction length of `relu`; \
         go by its name or its path alone"
    );
    let shapes: [&[usize]; 2] = [&[2, 3, 4, 4], &[3, 3, 2, 2]];
    for &op in Op::ALL {
        let below = refused(Condition { reduction_below: Some(2), ..of(op) });
        let has = sizes(op, &shapes).0.is_some();
        assert_eq!((above(op).is_none(), below.is_none()), (has, has), "{op:?}");
        assert_eq!(refused(Condition { path: Some("head.*".into()), ..of(op) }), None);
    }
    assert_eq!(above(Op::custom("mine", OpClass::Reduce)), None, "it may sum as much as it likes");
}
