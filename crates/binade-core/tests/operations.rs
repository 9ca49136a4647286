//! Checks of operands, and the shapes and types of results.

use binade_core::ops::{
    AttentionConfig, BatchNormConfig, Conv2dConfig, MaxPool2dConfig, OpInvocation as Call,
    OperandError,
    shape::{self, MaskLayout},
};
use binade_core::{
    DType::{self, BF16, F16, F32, I64},
    Error as _, ErrorKind,
};

/// Returns the shape of the result of f16 operands.
fn shape_of(call: &Call, shapes: &[&[usize]]) -> Result<Vec<usize>, OperandError> {
    let operands: Vec<_> = shapes.iter().map(|shape| (F16, *shape)).collect();
    call.check(&operands).map(|result| result.shape)
}

/// Returns the element type of the result of operands of one shape.
fn dtype_of(call: &Call, shape: &[usize], dtypes: &[DType]) -> Result<DType, OperandError> {
    let operands: Vec<_> = dtypes.iter().map(|dtype| (*dtype, shape)).collect();
    call.check(&operands).map(|result| result.dtype)
}

#[test]
fn products_take_the_outer_extents() {
    assert_eq!(shape_of(&Call::MatMul, &[&[2, 3], &[3, 4]]), Ok(vec![2, 4]));
    assert_eq!(shape_of(&Call::Bmm, &[&[5, 6, 2, 3], &[5, 6, 3, 4]]), Ok(vec![5, 6, 2, 4]));
    assert_eq!(shape_of(&Call::Linear, &[&[2, 5, 3], &[4, 3], &[4]]), Ok(vec![2, 5, 4]));
    assert_eq!(shape_of(&Call::Linear, &[&[3], &[4, 3]]), Ok(vec![4]));
}

#[test]
fn products_refuse_what_does_not_fit() {
    assert!(shape_of(&Call::MatMul, &[&[2, 3], &[4, 5]]).is_err());
    assert!(shape_of(&Call::MatMul, &[&[1, 2, 3], &[3, 4]]).is_err());
    assert!(shape_of(&Call::Bmm, &[&[2, 3], &[3, 4]]).is_err(), "that is a matmul");
    assert!(shape_of(&Call::Bmm, &[&[5, 2, 3], &[1, 3, 4]]).is_err(), "no broadcasting");
    assert!(shape_of(&Call::Linear, &[&[], &[4, 3]]).is_err());
    assert!(shape_of(&Call::Linear, &[&[2, 3], &[4, 3], &[3]]).is_err());
}

#[test]
fn attention_takes_masks_that_several_matrices_share() {
    let call = Call::ScaledDotProductAttention { config: AttentionConfig::default() };
    let of = |mask: &[usize]| {
        shape_of(&call, &[&[2, 3, 5, 4], &[2, 3, 9, 4], &[2, 3, 9, 6], mask])
            .map_err(|error| error.to_string())
    };
    for mask in [&[5, 9][..], &[1, 9], &[2, 1, 1, 9], &[1, 3, 5, 9], &[2, 3, 1, 9], &[1, 1, 5, 9]] {
        assert_eq!(of(mask), Ok(vec![2, 3, 5, 6]), "{mask:?}");
    }
    for mask in [&[9][..], &[5, 1], &[4, 9], &[3, 5, 9], &[3, 2, 5, 9], &[2, 3, 5, 8]] {
        let error = of(mask).unwrap_err();
        assert!(error.contains("mask [L or 1, S]"), "{mask:?}: {error}");
    }
    let apart = shape_of(&call, &[&[2, 3, 2, 4], &[2, 3, 9, 4], &[2, 3, 9, 6]]);
    assert_eq!(apart, Ok(vec![2, 3, 2, 6]));
    let place = |mask: &[usize], place| {
        MaskLayout::of(&[2, 3, 5, 4], mask).map(|layout| layout.row(place, 0, 1))
    };
    let all = |mask: &[usize]| (0..6).map(|at| place(mask, at).unwrap()).collect::<Vec<_>>();
    assert_eq!(all(&[2, 1, 5, 9]), [0, 0, 0, 1, 1, 1]);
    assert_eq!(all(&[1, 3, 5, 9]), [0, 1, 2, 0, 1, 2]);
    assert_eq!(all(&[2, 3, 5, 9]), [0, 1, 2, 3, 4, 5]);
    assert_eq!(all(&[5, 9]), [0; 6]);
    assert_eq!(MaskLayout::of(&[2, 3, 2, 5, 4], &[2, 1, 2, 5, 9]), None, "3 lies between");
}

#[test]
fn windows_count_their_positions_as_torch_does() {
    let conv = |stride, padding| {
        let (stride, padding) = ([stride; 2], [padding; 2]);
        let config = Conv2dConfig { stride, padding, ..Conv2dConfig::default() };
        shape_of(&Call::Conv2d { config }, &[&[2, 3, 8, 7], &[5, 3, 3, 3]])
    };
    assert_eq!(conv(1, 0), Ok(vec![2, 5, 6, 5]));
    assert_eq!(conv(1, 1), Ok(vec![2, 5, 8, 7]));
    assert_eq!(conv(2, 1), Ok(vec![2, 5, 4, 4]));
    assert_eq!(conv(100, 0), Ok(vec![2, 5, 1, 1]));
    let pool = Call::MaxPool2d { config: MaxPool2dConfig::square(2) };
    assert_eq!(shape_of(&pool, &[&[2, 3, 8, 7]]), Ok(vec![2, 3, 4, 3]));
}

#[test]
fn a_dilated_kernel_is_longer_and_groups_divide_the_channels() {
    let conv = |dilation, groups, weight: &[usize]| {
        let config = Conv2dConfig { dilation, groups, ..Conv2dConfig::default() };
        shape_of(&Call::Conv2d { config }, &[&[2, 6, 9, 9], weight])
    };
    assert_eq!(conv([2, 3], 1, &[4, 6, 3, 3]), Ok(vec![2, 4, 5, 3]));
    assert_eq!(conv([1, 1], 3, &[9, 2, 3, 3]), Ok(vec![2, 9, 7, 7]));
    assert_eq!(conv([1, 1], 6, &[6, 1, 3, 3]), Ok(vec![2, 6, 7, 7]), "depthwise");
    assert!(conv([5, 1], 1, &[4, 6, 3, 3]).is_err(), "11 rows of 9");
    assert!(conv([usize::MAX, 1], 1, &[4, 6, 3, 3]).is_err());
    assert!(conv([1, 1], 3, &[4, 2, 3, 3]).is_err(), "4 outputs of 3 groups");
    assert!(conv([1, 1], 4, &[4, 1, 3, 3]).is_err(), "6 channels of 4 groups");
    let config = Conv2dConfig { groups: usize::MAX, ..Conv2dConfig::default() };
    let empty = shape_of(&Call::Conv2d { config }, &[&[2, 0, 9, 9], &[0, 0, 3, 3]]);
    assert!(empty.is_err(), "no device goes through so many groups");
    for (dilation, groups) in [([0, 1], 1), ([1, 1], 0)] {
        let error = conv(dilation, groups, &[4, 6, 3, 3]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn windows_that_do_not_fit_are_refused() {
    let config = Conv2dConfig::default();
    let conv =
        |input: &[usize], weight: &[usize]| shape_of(&Call::Conv2d { config }, &[input, weight]);
    assert!(conv(&[2, 3, 2, 2], &[5, 3, 3, 3]).is_err(), "kernel beyond the image");
    assert!(conv(&[2, 3, 4, 4], &[5, 2, 3, 3]).is_err(), "other channels");
    assert!(conv(&[2, 3, 4, 4], &[5, 3, 0, 3]).is_err(), "no kernel");
    assert!(conv(&[3, 4, 4], &[5, 3, 3, 3]).is_err(), "no batch axis");
    // A window over padding alone would have no largest element.
    let (stride, padding) = ([1, 1], [1, 1]);
    let padded = MaxPool2dConfig { stride, padding, ..MaxPool2dConfig::square(2) };
    let pool = Call::MaxPool2d { config: padded };
    assert!(shape_of(&pool, &[&[1, 1, 0, 4]]).is_err());
    assert!(shape_of(&pool, &[&[1, 1, 1, 1]]).is_ok());
}

#[test]
fn no_extent_can_overflow_the_count_of_positions() {
    let config = Conv2dConfig { padding: [usize::MAX, 0], ..Conv2dConfig::default() };
    assert!(shape_of(&Call::Conv2d { config }, &[&[1, 1, 4, 4], &[1, 1, 3, 3]]).is_err());
}

#[test]
fn vectors_lie_along_the_channel_axis() {
    assert_eq!(shape::channels(&[2, 3, 4, 5]), Some(1));
    assert_eq!(shape::channels(&[2, 3, 4]), Some(2));
    assert_eq!(shape::channels(&[2, 3]), Some(1));
    assert_eq!(shape::channels(&[]), None);
    assert!(shape_of(&Call::BiasAdd, &[&[2, 3, 4, 5], &[3]]).is_ok());
    assert!(shape_of(&Call::BiasAdd, &[&[2, 3, 4, 5], &[5]]).is_err());
    assert!(shape_of(&Call::BiasAdd, &[&[], &[]]).is_err());
    assert!(shape_of(&Call::BiasAddBackward, &[&[]]).is_err());
}

#[test]
fn normalisations_keep_the_input_shape_and_type() {
    let layer_norm = Call::LayerNorm { eps: 0.0 };
    assert_eq!(shape_of(&layer_norm, &[&[2, 3, 4], &[4], &[4]]), Ok(vec![2, 3, 4]));
    assert!(shape_of(&layer_norm, &[&[2, 3, 4], &[3], &[4]]).is_err());
    let rms_norm = Call::RmsNorm { eps: 0.0 };
    assert_eq!(shape_of(&rms_norm, &[&[2, 3, 4], &[4]]), Ok(vec![2, 3, 4]));
    assert!(shape_of(&rms_norm, &[&[2, 3, 4], &[3]]).is_err());
    let vectors = |dtype, running: DType, c: &'static [usize]| {
        [[(dtype, c), (dtype, c)], [(running, c), (running, c)]].concat()
    };
    let batch_norm = |call: &Call, input: &[usize], vectors: &[(DType, &[usize])]| {
        call.check(&[&[(F16, input)], vectors].concat()).map(|result| (result.shape, result.dtype))
    };
    let inference = Call::BatchNormInference { eps: 0.0 };
    let training = Call::BatchNorm { config: BatchNormConfig::default() };
    for of_parameters in [F16, F32] {
        let vectors = vectors(of_parameters, F32, &[3]);
        assert_eq!(batch_norm(&training, &[2, 3, 4], &vectors), Ok((vec![2, 3, 4], F16)));
    }
    assert!(batch_norm(&training, &[2, 3, 4], &vectors(BF16, F32, &[3])).is_err());
    assert!(batch_norm(&training, &[2, 3, 4], &vectors(F16, F16, &[3])).is_err());
    assert!(batch_norm(&training, &[2], &vectors(F16, F32, &[2])).is_err());
    let one_value = batch_norm(&training, &[1, 3], &vectors(F16, F32, &[3]));
    assert_eq!(one_value.unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert!(batch_norm(&inference, &[1, 3], &vectors(F16, F32, &[3])).is_ok());
    assert!(shape_of(&Call::Softmax, &[&[]]).is_err());
}

#[test]
fn groups_of_a_normalisation_divide_the_channels() {
    let norm = |groups, input: &[usize], c: usize| {
        shape_of(&Call::GroupNorm { groups, eps: 0.0 }, &[input, &[c], &[c]])
    };
    assert_eq!(norm(3, &[2, 6, 4], 6), Ok(vec![2, 6, 4]));
    assert_eq!(norm(1, &[2, 0], 0), Ok(vec![2, 0]));
    assert!(norm(4, &[2, 6, 4], 6).is_err());
    assert!(norm(2, &[2, 6, 4], 2).is_err(), "weights are by channel");
    assert!(norm(2, &[6], 6).is_err(), "no samples");
    assert!(norm(usize::MAX, &[2, 0, 4], 0).is_err(), "no device goes through so many groups");
    assert_eq!(norm(0, &[2, 6], 6).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn steps_of_a_batch_norm_take_and_give_f32_by_channel() {
    let by_channel = |call: &Call, operands: &[(DType, &[usize])]| {
        call.check(operands).map(|result| (result.shape, result.dtype))
    };
    let (x, c, rows): (_, (_, &[usize]), (_, &[usize])) =
        ((F16, &[2, 3, 4][..]), (F32, &[3]), (F32, &[2, 3]));
    assert_eq!(by_channel(&Call::BatchNormStats, &[x]), Ok((vec![3], F32)));
    let one_value = Call::BatchNormStats.check(&[(F16, &[1, 3])]).unwrap_err();
    assert_eq!(one_value.kind(), ErrorKind::InvalidArgument);
    let sums = Call::BatchNormGradSums { eps: 0.0 };
    assert_eq!(by_channel(&sums, &[x, x, c, c]), Ok((vec![2, 3], F32)));
    assert!(by_channel(&sums, &[x, x, c, (F16, &[3])]).is_err());
    assert!(by_channel(&sums, &[(F32, x.1), x, c, c]).is_err());
    let input = Call::BatchNormInputGrad { eps: 0.0 };
    assert_eq!(by_channel(&input, &[x, x, c, c, c, rows]), Ok((x.1.to_vec(), F16)));
    assert!(by_channel(&input, &[x, x, (BF16, &[3]), c, c, rows]).is_err());
    assert!(by_channel(&input, &[x, x, c, c, c, (F32, &[3, 2])]).is_err());
    assert!(by_channel(&input, &[x, x, c, c, c, (F16, &[2, 3])]).is_err());
}

#[test]
fn rows_losses_and_scalars() {
    let indexed = |call: &Call, values: &[usize], indices: &[usize]| {
        let result = call.check(&[(F16, values), (I64, indices)])?;
        Ok::<_, OperandError>((result.shape, result.dtype))
    };
    assert_eq!(indexed(&Call::Embedding, &[7, 4], &[2, 3]), Ok((vec![2, 3, 4], F16)));
    assert!(indexed(&Call::Embedding, &[7], &[2]).is_err());
    let backward = Call::EmbeddingBackward { rows: 7 };
    assert_eq!(indexed(&backward, &[2, 3, 4], &[2, 3]), Ok((vec![7, 4], F16)));
    assert_eq!(indexed(&Call::CrossEntropy, &[5, 3], &[5]), Ok((vec![], F32)));
    assert!(indexed(&Call::CrossEntropy, &[5, 3], &[4]).is_err());
    assert!(Call::CrossEntropy.check(&[(F16, &[5, 3]), (F32, &[5])]).is_err(), "labels are i64");
    assert_eq!(shape_of(&Call::MseLoss, &[&[5, 3], &[5, 3]]), Ok(vec![]));
    assert_eq!(dtype_of(&Call::Mean, &[5, 3], &[BF16]), Ok(F32));
    let reshape = Call::Reshape { shape: vec![3, 1, 2] };
    assert_eq!(shape_of(&reshape, &[&[2, 3]]), Ok(vec![3, 1, 2]));
    let spread = Call::SumBackward { shape: vec![3], dtype: BF16 };
    assert_eq!(dtype_of(&spread, &[], &[F32]), Ok(BF16));
    assert!(dtype_of(&spread, &[1], &[F32]).is_err());
    assert!(dtype_of(&spread, &[], &[F16]).is_err());
    assert_eq!(shape::element_count(&[]), 1);
    let dropout = Call::Dropout { p: 0.5 };
    assert_eq!(indexed(&dropout, &[3], &[2]), Ok((vec![3], F16)));
    assert!(indexed(&dropout, &[3], &[3]).is_err());
}

#[test]
fn a_gradient_has_the_type_and_shape_of_the_result() {
    let backward = Call::LinearBackward { bias: true };
    assert_eq!(shape_of(&backward, &[&[2, 4], &[2, 3], &[4, 3]]), Ok(vec![2, 3]));
    let of_weight = Call::LinearBackwardOfWeight { bias: true };
    assert_eq!(shape_of(&of_weight, &[&[2, 4], &[2, 3], &[4, 3]]), Ok(vec![4, 3]));
    assert!(shape_of(&backward, &[&[2, 3], &[2, 3], &[4, 3]]).is_err());
    assert!(backward.check(&[(F32, &[2, 4]), (F16, &[2, 3]), (F16, &[4, 3])]).is_err());
    let fused = Call::LinearReluBackwardOfWeight { bias: false };
    assert_eq!(shape_of(&fused, &[&[2, 4], &[2, 4], &[2, 3], &[4, 3]]), Ok(vec![4, 3]));
    assert!(shape_of(&fused, &[&[2, 4], &[2, 5], &[2, 3], &[4, 3]]).is_err());
    let losses =
        |grad: DType| Call::MseLossBackward.check(&[(grad, &[]), (F16, &[3]), (F16, &[3])]);
    assert_eq!(losses(F32).map(|result| result.dtype), Ok(F16));
    assert!(losses(F16).is_err());
}

#[test]
fn a_gradient_of_another_shape_or_type_is_refused_by_every_kind_of_rule() {
    type Row = (Call, &'static [usize], &'static [&'static [usize]]);
    let conv2d = Conv2dConfig::default();
    let calls: [Row; 9] = [
        (Call::MatMulBackward, &[2, 4], &[&[2, 3], &[3, 4]]),
        (Call::BmmBackward, &[5, 2, 4], &[&[5, 2, 3], &[5, 3, 4]]),
        (Call::MulBackward, &[3], &[&[3], &[3]]),
        (Call::ReluBackward, &[3], &[&[3]]),
        (Call::SoftmaxBackward, &[2, 3], &[&[2, 3]]),
        (Call::LayerNormBackward { eps: 0.0 }, &[2, 4], &[&[2, 4], &[4]]),
        (Call::RmsNormBackward { eps: 0.0 }, &[2, 4], &[&[2, 4], &[4]]),
        (
            Call::Conv2dBackward { config: conv2d, bias: true },
            &[1, 2, 2, 2],
            &[&[1, 1, 3, 3], &[2, 1, 2, 2]],
        ),
        (
            Call::MaxPool2dBackward { config: MaxPool2dConfig::square(2) },
            &[1, 1, 2, 2],
            &[&[1, 1, 4, 4]],
        ),
    ];
    for (call, grad, operands) in calls {
        let check = |dtype: DType, grad: &[usize]| {
            let operands = operands.iter().map(|shape| (F16, *shape));
            call.check(&[(dtype, grad)].into_iter().chain(operands).collect::<Vec<_>>()).is_ok()
        };
        assert!(check(F16, grad), "{call:?}");
        assert!(!check(F16, &[grad, &[1]].concat()), "{call:?}: shape");
        assert!(!check(F32, grad), "{call:?}: type");
    }
    for p in [-0.1, 1.1, f32::NAN] {
        assert!(Call::Dropout { p }.check(&[(F16, &[3]), (I64, &[2])]).is_err(), "{p}");
    }
}

#[test]
fn operands_of_one_operation_have_one_float_type() {
    assert_eq!(dtype_of(&Call::Add, &[3], &[BF16, BF16]), Ok(BF16));
    let error = dtype_of(&Call::Add, &[3], &[F16, F32]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "add: found f16, f32; expected one of bf16, f16, f32, the same for all: cast them first, or let autocast"
    );
    assert!(dtype_of(&Call::Relu, &[3], &[I64]).is_err());
}

#[test]
fn another_number_of_operands_is_refused() {
    for (call, shapes) in [
        (Call::Relu, &[][..]),
        (Call::Relu, &[&[3][..], &[3]]),
        (Call::Linear, &[&[2, 3]]),
        (Call::Linear, &[&[2, 3], &[4, 3], &[4], &[4]]),
        (Call::BatchNormInference { eps: 0.0 }, &[&[2, 3], &[3], &[3], &[3]]),
    ] {
        let error = shape_of(&call, shapes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(error.to_string().contains("as many operands as the method takes"), "{error}");
    }
}

#[test]
fn an_error_names_the_operation_every_shape_and_what_was_expected() {
    let conv2d = Call::Conv2d { config: Conv2dConfig::default() };
    let error = shape_of(&conv2d, &[&[2, 3], &[5, 3, 3, 3], &[5]]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert_eq!(
        error.to_string(),
        "conv2d: found [2, 3] and [5, 3, 3, 3] and [5]; expected input [N, C, H, W], weight [O, C / groups, KH, KW] of O divisible \
         by groups, with KH and KW at least 1 and, dilated, at most H and W with padding on both sides, bias [O]"
    );
}

#[test]
fn a_size_that_no_host_counts_is_none_in_any_order_of_the_extents() {
    assert_eq!((shape::size(&[2, 3], 4), shape::size(&[], 4)), (Some(24), Some(4)));
    assert_eq!(shape::size(&[1 << 31, 0, 2], 4), Some(0));
    let half = usize::MAX / 2 + 1;
    assert_eq!((shape::size(&[half], 1), shape::size(&[half], 2)), (Some(half), None));
    for shape in [[half, 2, 0], [0, half, 2], [half, 0, 2], [half, 2, 1]] {
        assert_eq!(shape::size(&shape, 1), None, "{shape:?}");
        let reshape = Call::Reshape { shape: shape.to_vec() };
        assert!(shape_of(&reshape, &[&[0]]).is_err(), "{shape:?}");
    }
}
