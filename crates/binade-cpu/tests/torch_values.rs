//! Layers beside values recorded from torch 2.15.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use binade_core::DType;
use binade_core::ops::*;
use binade_cpu::{Cpu, Tensor};

/// Whole numbers that the recording computed alike: `i·factor` modulo `modulus`, less `least`.
fn whole(shape: &[usize], [factor, modulus, least]: [u16; 3]) -> Tensor {
    let count = u16::try_from(shape.iter().product::<usize>()).unwrap();
    let value = |i: u16| f32::from(i * factor % modulus) - f32::from(least);
    Cpu.upload(&(0..count).map(value).collect::<Vec<_>>(), shape, DType::F32).unwrap()
}

fn input(shape: &[usize]) -> Tensor {
    whole(shape, [7, 11, 5])
}

fn grad(shape: &[usize]) -> Tensor {
    whole(shape, [1, 5, 1])
}

#[track_caller]
fn near(got: &Tensor, recorded: &[f32]) {
    let got = got.to_f32();
    assert_eq!(got.len(), recorded.len());
    for (at, (got, recorded)) in got.iter().zip(recorded).enumerate() {
        assert!((got - recorded).abs() <= 2e-6 * recorded.abs().max(1.0), "{got} at {at}");
    }
}

#[test]
fn average_pooling_has_torchs_values_whether_padding_counts_or_not() {
    let third = 1.0 / 3.0;
    let counted: [&[f32]; 2] = [
        &[0.0, 0.5, -third, -0.833_333_3, 2.0, 2.0, -2.0, -2.0],
        &[
            -0.166_666_7,
            0.166_666_7,
            0.5,
            0.166_666_6,
            0.0,
            0.666_666_7,
            third,
            -0.166_666_7,
            0.166_666_7,
            third,
            -0.166_666_7,
            0.166_666_7,
        ],
    ];
    let inside: [&[f32]; 2] = [
        &[0.0, 0.75, -0.5, -2.5, 4.0, 2.0, -2.0, -4.0],
        &[
            -0.5,
            0.25,
            1.25,
            third,
            0.083_333_33,
            1.583_333,
            0.833_333_3,
            -0.166_666_7,
            third,
            0.833_333_3,
            -0.166_666_7,
            third,
        ],
    ];
    for (count_include_pad, [result, gradient]) in [(true, counted), (false, inside)] {
        let (kernel, stride, padding) = ([3, 2], [2, 1], [1, 1]);
        let config = AvgPool2dConfig { kernel, stride, padding, count_include_pad };
        let x = input(&[1, 1, 4, 3]);
        near(&Cpu.avg_pool2d(&x, config).unwrap(), result);
        let g = grad(&[1, 1, 2, 4]);
        near(&Cpu.avg_pool2d_backward(&g, x.shape(), config).unwrap(), gradient);
    }
}

#[test]
fn adaptive_average_pooling_has_torchs_values() {
    let x = input(&[1, 1, 5, 4]);
    let result = [-1.25, 0.25, 1.75, -0.5, 1.0, 0.666_666_7, 0.25, 1.75, 0.5];
    near(&Cpu.adaptive_avg_pool2d(&x, [3, 3]).unwrap(), &result);
    let third = 1.0 / 3.0;
    let gradient = [
        -0.25,
        -0.25,
        0.25,
        0.25,
        0.083_333_34,
        0.583_333_4,
        0.583_333_3,
        0.083_333_33,
        third,
        0.833_333_4,
        third,
        -0.166_666_7,
        third,
        1.083_333,
        1.083_333,
        third,
        0.0,
        0.25,
        0.75,
        0.5,
    ];
    near(&Cpu.adaptive_avg_pool2d_backward(&grad(&[1, 1, 3, 3]), x.shape()).unwrap(), &gradient);
}
