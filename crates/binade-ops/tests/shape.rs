//! Shapes of every result.

use binade_core::{Error as _, ErrorKind, Op};
use binade_ops::{Conv2dConfig, MaxPool2dConfig, shape};

#[test]
fn products_take_the_outer_extents() {
    assert_eq!(shape::matmul(&[2, 3], &[3, 4]), Ok(vec![2, 4]));
    assert_eq!(shape::bmm(&[5, 6, 2, 3], &[5, 6, 3, 4]), Ok(vec![5, 6, 2, 4]));
    assert_eq!(shape::linear(&[2, 5, 3], &[4, 3], Some(&[4])), Ok(vec![2, 5, 4]));
    assert_eq!(shape::linear(&[3], &[4, 3], None), Ok(vec![4]));
}

#[test]
fn products_refuse_what_does_not_fit() {
    assert!(shape::matmul(&[2, 3], &[4, 5]).is_err());
    assert!(shape::matmul(&[1, 2, 3], &[3, 4]).is_err());
    assert!(shape::bmm(&[2, 3], &[3, 4]).is_err(), "that is a matmul");
    assert!(shape::bmm(&[5, 2, 3], &[1, 3, 4]).is_err(), "no broadcasting");
    assert!(shape::linear(&[], &[4, 3], None).is_err());
    assert!(shape::linear(&[2, 3], &[4, 3], Some(&[3])).is_err());
}

#[test]
fn windows_count_their_positions_as_torch_does() {
    let conv = |stride, padding| {
        let config = Conv2dConfig { stride: [stride; 2], padding: [padding; 2] };
        shape::conv2d(&[2, 3, 8, 7], &[5, 3, 3, 3], None, config)
    };
    assert_eq!(conv(1, 0), Ok(vec![2, 5, 6, 5]));
    assert_eq!(conv(1, 1), Ok(vec![2, 5, 8, 7]));
    assert_eq!(conv(2, 1), Ok(vec![2, 5, 4, 4]));
    assert_eq!(conv(100, 0), Ok(vec![2, 5, 1, 1]));
    let pool = MaxPool2dConfig::square(2);
    assert_eq!(shape::max_pool2d(&[2, 3, 8, 7], pool), Ok(vec![2, 3, 4, 3]));
}

#[test]
fn windows_that_do_not_fit_are_refused() {
    let config = Conv2dConfig::default();
    let conv = |input: &[usize], weight: &[usize]| shape::conv2d(input, weight, None, config);
    assert!(conv(&[2, 3, 2, 2], &[5, 3, 3, 3]).is_err(), "kernel beyond the image");
    assert!(conv(&[2, 3, 4, 4], &[5, 2, 3, 3]).is_err(), "other channels");
    assert!(conv(&[2, 3, 4, 4], &[5, 3, 0, 3]).is_err(), "no kernel");
    assert!(conv(&[3, 4, 4], &[5, 3, 3, 3]).is_err(), "no batch axis");
    // A window over padding alone would have no largest element.
    let padded = MaxPool2dConfig { kernel: [2, 2], stride: [1, 1], padding: [1, 1] };
    assert!(shape::max_pool2d(&[1, 1, 0, 4], padded).is_err());
    assert!(shape::max_pool2d(&[1, 1, 1, 1], padded).is_ok());
}

#[test]
fn no_extent_can_overflow_the_count_of_positions() {
    let config = Conv2dConfig { stride: [1, 1], padding: [usize::MAX, 0] };
    assert!(shape::conv2d(&[1, 1, 4, 4], &[1, 1, 3, 3], None, config).is_err());
}

#[test]
fn vectors_lie_along_the_channel_axis() {
    assert_eq!(shape::channels(&[2, 3, 4, 5]), Some(1));
    assert_eq!(shape::channels(&[2, 3, 4]), Some(2));
    assert_eq!(shape::channels(&[2, 3]), Some(1));
    assert_eq!(shape::channels(&[]), None);
    assert!(shape::bias_add(&[2, 3, 4, 5], &[3]).is_ok());
    assert!(shape::bias_add(&[2, 3, 4, 5], &[5]).is_err());
    assert!(shape::bias_add(&[], &[]).is_err());
}

#[test]
fn normalisations_keep_the_input_shape() {
    assert_eq!(shape::layer_norm(&[2, 3, 4], &[4], &[4]), Ok(vec![2, 3, 4]));
    assert!(shape::layer_norm(&[2, 3, 4], &[3], &[4]).is_err());
    assert_eq!(shape::batch_norm(&[2, 3, 4], &[&[3], &[3]]), Ok(vec![2, 3, 4]));
    assert!(shape::batch_norm(&[2], &[&[2]]).is_err());
    assert_eq!(shape::batch_norm_samples(&[2, 3, 4]), Ok(8));
    assert_eq!(shape::batch_norm_samples(&[1, 3]).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert!(shape::softmax(Op::SOFTMAX, &[]).is_err());
}

#[test]
fn rows_losses_and_scalars() {
    assert_eq!(shape::embedding(&[7, 4], &[2, 3]), Ok(vec![2, 3, 4]));
    assert!(shape::embedding(&[7], &[2]).is_err());
    assert_eq!(shape::cross_entropy(&[5, 3], &[5]), Ok(vec![]));
    assert!(shape::cross_entropy(&[5, 3], &[4]).is_err());
    assert_eq!(shape::mse_loss(&[5, 3], &[5, 3]), Ok(vec![]));
    assert_eq!(shape::reshape(&[2, 3], &[3, 1, 2]), Ok(vec![3, 1, 2]));
    assert!(shape::scalar(Op::SUM, &[1]).is_err());
    assert_eq!(shape::element_count(&[]), 1);
    assert_eq!(shape::dropout(&[3], &[2], 0.5), Ok(vec![3]));
    assert!(shape::dropout(&[3], &[3], 0.5).is_err());
}

#[test]
fn an_error_names_the_operation_every_shape_and_what_was_expected() {
    let error = shape::conv2d(&[2, 3], &[5, 3, 3, 3], Some(&[5]), Conv2dConfig::default());
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert_eq!(
        error.to_string(),
        "conv2d: found [2, 3] and [5, 3, 3, 3] and [5]; expected input [N, C, H, W], weight [O, C, KH, KW] with \
         1 ≤ KH ≤ H + 2·padding and 1 ≤ KW ≤ W + 2·padding, bias [O]"
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
        assert!(shape::reshape(&[0], &shape).is_err(), "{shape:?}");
    }
}
