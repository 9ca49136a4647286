//! Refusals, and their words.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use binade_core::ops::*;
use binade_core::{DType, Error as _, ErrorKind};
use binade_cpu::{Cpu, Error, Tensor};

fn ones(shape: &[usize], dtype: DType) -> Tensor {
    Cpu.fill(1.0, shape, dtype).unwrap()
}

fn f32s(shape: &[usize]) -> Tensor {
    ones(shape, DType::F32)
}

fn i64s(values: &[i64]) -> Tensor {
    Tensor::new(values.to_vec(), &[values.len()]).unwrap()
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, kind: ErrorKind, text: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.to_string(), text);
    assert_eq!(error.kind(), kind);
}

#[test]
fn shapes_that_do_not_fit_are_named_both() {
    refused(
        Cpu.matmul(&f32s(&[2, 3]), &f32s(&[4, 5])),
        ErrorKind::Mismatch,
        "matmul: found [2, 3] and [4, 5]; expected [M, K] and [K, N]",
    );
    refused(
        Cpu.linear(&f32s(&[2, 3]), &f32s(&[4, 3]), Some(&f32s(&[3]))),
        ErrorKind::Mismatch,
        "linear: found [2, 3] and [4, 3] and [3]; expected input [.., in], weight [out, in], bias [out]",
    );
    refused(
        Cpu.add(&f32s(&[2, 3]), &f32s(&[3])),
        ErrorKind::Mismatch,
        "add: found [2, 3] and [3]; expected equal shapes",
    );
    refused(
        Cpu.reshape(&f32s(&[2, 3]), &[4]),
        ErrorKind::Mismatch,
        "reshape: found [2, 3] and [4]; expected shapes of equally many elements",
    );
}

#[test]
fn a_bias_in_another_type_than_the_activation_is_refused() {
    let x = ones(&[2, 3], DType::F16);
    refused(
        Cpu.bias_add(&x, &f32s(&[3])),
        ErrorKind::Mismatch,
        "bias_add: found f16, f32; expected one of bf16, f16, f32, the same for all: cast them first, or let autocast",
    );
    let w = ones(&[4, 3], DType::F16);
    assert_eq!(Cpu.linear(&x, &w, Some(&f32s(&[4]))).unwrap_err().kind(), ErrorKind::Mismatch);
}

#[test]
fn normalisation_takes_parameters_of_its_input_or_f32_and_no_others() {
    let vectors = [DType::BF16, DType::F32].map(|dtype| ones(&[3], dtype));
    let x = ones(&[4, 3], DType::F16);
    refused(
        Cpu.layer_norm(&x, &vectors[0], &vectors[0], 1e-5),
        ErrorKind::Mismatch,
        "layer_norm: found f16, bf16, bf16; expected parameters of the input's type, or f32: cast them first, or let autocast",
    );
    assert!(Cpu.layer_norm(&f32s(&[4, 3]), &vectors[0], &vectors[0], 1e-5).is_err());
    assert!(Cpu.layer_norm(&x, &vectors[1], &vectors[0], 1e-5).is_err());
    let narrow = RunningStats { mean: vectors[0].clone(), var: vectors[0].clone() };
    let inference = Cpu.batch_norm_inference(&x, &vectors[1], &vectors[1], &narrow, 1e-5);
    assert_eq!(inference.unwrap_err().kind(), ErrorKind::Mismatch);
}

#[test]
fn types_that_cannot_be_computed_with_are_refused() {
    let wide = Tensor::new(vec![1.0_f64], &[1]).unwrap();
    let eight = Tensor::from_bits(&[0x38], DType::E4M3, &[1]).unwrap();
    for x in [&wide, &eight, &i64s(&[1])] {
        for result in [Cpu.relu(x), Cpu.sum(x), Cpu.mean(x), Cpu.add(x, x), Cpu.softmax(x)] {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Mismatch, "{x:?}");
        }
    }
}

#[test]
fn a_label_that_is_no_class_is_named_with_its_place() {
    for (label, place) in [(3, 1), (-1, 0)] {
        let mut labels = [0, 0];
        labels[place] = label;
        refused(
            Cpu.cross_entropy(&f32s(&[2, 3]), &i64s(&labels)),
            ErrorKind::InvalidArgument,
            &format!("cross_entropy: index {label} at position {place}; expected 0 ≤ index < 3"),
        );
    }
    assert_eq!(
        Cpu.embedding(&f32s(&[4, 2]), &i64s(&[4])).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    refused(
        Cpu.cross_entropy(&f32s(&[2, 3]), &f32s(&[2])),
        ErrorKind::Mismatch,
        "cross_entropy: found f32; expected i64: cast them first, or let autocast",
    );
}

#[test]
fn a_gradient_of_another_shape_or_type_is_refused() {
    let (a, b) = (f32s(&[2, 3]), f32s(&[3, 4]));
    refused(
        Cpu.matmul_backward(&f32s(&[2, 3]), &a, &b),
        ErrorKind::Mismatch,
        "matmul: found [2, 3] and [2, 4]; expected equal shapes",
    );
    refused(
        Cpu.matmul_backward(&ones(&[2, 4], DType::BF16), &a, &b),
        ErrorKind::Mismatch,
        "matmul: found bf16, f32; expected a gradient of the result's type: cast them first, or let autocast",
    );
    refused(
        Cpu.sum_backward(&f32s(&[1]), &[2], DType::F16),
        ErrorKind::Mismatch,
        "sum: found [1]; expected the gradient of a scalar, []",
    );
    let half = ones(&[], DType::F16);
    assert_eq!(Cpu.mean_backward(&half, &[2], DType::F16).unwrap_err().kind(), ErrorKind::Mismatch);
}

#[test]
fn arguments_out_of_range_say_the_range() {
    refused(
        Cpu.dropout(&f32s(&[2]), &i64s(&[1, 2]), 1.5),
        ErrorKind::InvalidArgument,
        "dropout: p = 1.5 for [2]; expected 0 ≤ p ≤ 1",
    );
    let error = Cpu.dropout(&f32s(&[2]), &i64s(&[1, 2]), f32::NAN).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let still = Conv2dConfig { stride: [0, 1], ..Default::default() };
    refused(
        Cpu.conv2d(&f32s(&[1, 1, 3, 3]), &f32s(&[1, 1, 2, 2]), None, still),
        ErrorKind::InvalidArgument,
        "conv2d: stride [0, 1] for [1, 1, 3, 3] and [1, 1, 2, 2]; expected at least 1",
    );
    refused(
        Cpu.batch_norm(
            &f32s(&[1, 3]),
            &f32s(&[3]),
            &f32s(&[3]),
            &RunningStats { mean: f32s(&[3]), var: f32s(&[3]) },
            BatchNormConfig::default(),
        ),
        ErrorKind::InvalidArgument,
        "batch_norm: 1 value(s) a channel for [1, 3]; expected at least 2 in training; a batch of one is for the inference form",
    );
    let padded = MaxPool2dConfig { kernel: [2, 2], stride: [1, 1], padding: [2, 0] };
    let error = Cpu.max_pool2d(&f32s(&[1, 1, 4, 4]), padded).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}
