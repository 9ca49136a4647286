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
        let config = AvgPool2dConfig {
            kernel,
            stride,
            padding,
            count_include_pad,
            ..AvgPool2dConfig::square(1)
        };
        let x = input(&[1, 1, 4, 3]);
        near(&Cpu.avg_pool2d(&x, config).unwrap(), result);
        let g = grad(&[1, 1, 2, 4]);
        near(&Cpu.avg_pool2d_backward(&g, x.shape(), config).unwrap(), gradient);
    }
}

#[test]
fn a_convolution_of_groups_and_dilated_kernels_has_torchs_values() {
    let [x, w] = [input(&[1, 4, 3, 4]), whole(&[2, 2, 2, 2], [5, 7, 3])];
    let b = whole(&[2], [1, 6, 2]);
    let (stride, padding, dilation, groups) = ([2, 1], [1, 0], [2, 3], 2);
    let config = Conv2dConfig { stride, padding, dilation, groups, ..Conv2dConfig::default() };
    near(&Cpu.conv2d(&x, &w, Some(&b), config).unwrap(), &[13.0, -18.0, -2.0, 8.0]);
    let grads = Cpu.conv2d_backward(&grad(&[1, 2, 2, 1]), &x, &w, true, config).unwrap();
    let mut of_x = [0.0; 48];
    for (at, value) in [(7, 2.0), (16, 1.0), (19, 3.0), (28, 2.0), (31, 3.0), (40, -1.0)] {
        of_x[at] = value;
    }
    near(&grads.input, &of_x);
    let of_w =
        [0, 0, -1, 0, 0, 0, 3, 4, 8, 6, 4, 3, 0, -2, 0, -1].map(|value: i8| f32::from(value));
    near(&grads.weight, &of_w);
    near(&grads.bias.unwrap(), &[-1.0, 3.0]);
}

#[test]
fn a_normalisation_over_groups_has_torchs_values() {
    let x = input(&[2, 4, 3]);
    let w = Tensor::new(vec![0.5_f32, 1.0, 1.5, 2.0], &[4]).unwrap();
    let b = whole(&[4], [1, 6, 1]);
    let result = [
        -1.696_526,
        -0.651_737_2,
        -1.248_759,
        1.592_059,
        0.398_014_7,
        -0.796_029_4,
        3.042_954,
        1.226_995,
        -0.588_964,
        4.118_618,
        1.697_34,
        -0.723_938_3,
        -0.856_850_5,
        -1.543_968,
        -0.341_512_3,
        -0.057_259_83,
        -1.431_495,
        0.973_416_6,
        1.429_448,
        -0.631_904_2,
        2.975_463,
        1.885_48,
        -0.862_989_9,
        3.946_833,
    ];
    near(&Cpu.group_norm(&x, &w, &b, 2, 1e-5).unwrap(), &result);
    let grads = Cpu.group_norm_backward(&grad(x.shape()), &x, &w, 2, 1e-5).unwrap();
    let of_x = [
        0.041_377_44,
        -0.393_827_5,
        0.089_405_4,
        -0.047_288_52,
        0.585_199_9,
        -0.274_866_8,
        -0.683_487_3,
        -0.003_080_517,
        0.677_326_2,
        1.189_076,
        -1.005_786,
        -0.174_048_9,
        -0.033_792_63,
        0.300_191_4,
        0.188_112_7,
        -0.508_579_7,
        -0.002_816_245,
        0.056_884_45,
        0.425_224_3,
        0.548_568,
        -0.826_794_4,
        -0.703_450_7,
        -0.408_327_6,
        0.964_780_3,
    ];
    near(&grads.input, &of_x);
    near(&grads.weight, &[2.956_886, 6.204_868, -5.975_475, 3.844_596]);
    near(&grads.bias, &[6.0, 4.0, 7.0, 5.0]);
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
