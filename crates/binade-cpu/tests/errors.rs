//! Refusals, and their words.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use binade_core::ops::*;
use binade_core::{DType, Error as _, ErrorKind};
use binade_cpu::{Cpu, Error, Tensor};

fn f32s(shape: &[usize]) -> Tensor {
    Cpu.fill(1.0, shape, DType::F32).unwrap()
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
    let (stride, padding) = ([1, 1], [2, 0]);
    let padded = MaxPool2dConfig { stride, padding, ..MaxPool2dConfig::square(2) };
    let error = Cpu.max_pool2d(&f32s(&[1, 1, 4, 4]), padded).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}
