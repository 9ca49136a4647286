//! Normalisation beyond forward and backward: statistics, mixed types.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use binade_core::DType;
use binade_cpu::{Cpu, Tensor};
use binade_ops::{BatchNorm, BatchNormConfig, LayerNorm, RunningStats};
use common::{assert_same_bits, cases::fresh, reals, tensor};

const HALVES: [DType; 2] = [DType::BF16, DType::F16];

fn vector(values: &[f32]) -> Tensor {
    Tensor::new(values.to_vec(), &[values.len()]).unwrap()
}

fn wide(tensor: &Tensor) -> Tensor {
    tensor.cast(DType::F32).unwrap()
}

#[test]
fn sixteen_bit_input_goes_with_f32_parameters_and_is_narrowed_once() {
    let config = BatchNormConfig::default();
    let (w, b) = (tensor(&[3], 1, DType::F32), tensor(&[3], 2, DType::F32));
    for dtype in HALVES {
        let x = tensor(&[4, 3, 5], 3, dtype);
        let found = Cpu.batch_norm(&x, &w, &b, &fresh(3), config).unwrap();
        let exact = Cpu.batch_norm(&wide(&x), &w, &b, &fresh(3), config).unwrap();
        assert_same_bits(&found.output, &exact.output.cast(dtype).unwrap(), "batch_norm");
        assert_same_bits(&found.running.var, &exact.running.var, "running variance");
        let grads = Cpu.batch_norm_backward(&x, &x, &w, config.eps).unwrap();
        assert_eq!(
            [&grads.input, &grads.weight, &grads.bias].map(Tensor::dtype),
            [dtype, DType::F32, DType::F32]
        );
        let rows = tensor(&[7, 3], 4, dtype);
        let found = Cpu.layer_norm(&rows, &w, &b, 1e-5).unwrap();
        let exact = Cpu.layer_norm(&wide(&rows), &w, &b, 1e-5).unwrap();
        assert_same_bits(&found, &exact.cast(dtype).unwrap(), "layer_norm");
    }
}

#[test]
fn running_statistics_move_by_the_momentum_towards_the_unbiased_variance() {
    // Channel 0: 1, 2, 6, mean 3, unbiased variance 7. Channel 1: 10, 10, 10.
    let x = Tensor::new(vec![1.0_f32, 10.0, 2.0, 10.0, 6.0, 10.0], &[3, 2]).unwrap();
    let ones = vector(&[1.0, 1.0]);
    let before = RunningStats { mean: vector(&[1.0, 0.0]), var: vector(&[4.0, 1.0]) };
    let config = BatchNormConfig { momentum: 0.25, eps: 1e-5 };
    let after = Cpu.batch_norm(&x, &ones, &ones, &before, config).unwrap().running;
    assert_same_bits(&after.mean, &vector(&[1.5, 2.5]), "mean");
    assert_same_bits(&after.var, &vector(&[4.75, 0.75]), "variance");
    assert_same_bits(&before.mean, &vector(&[1.0, 0.0]), "what was passed in");
}

#[test]
fn inference_normalises_by_the_running_statistics() {
    let x = Tensor::new(vec![5.0_f32, 1.0], &[1, 2]).unwrap();
    let running = RunningStats { mean: vector(&[1.0, 2.0]), var: vector(&[4.0, 0.25]) };
    let (w, b) = (vector(&[3.0, 1.0]), vector(&[0.5, 0.0]));
    let y = Cpu.batch_norm_inference(&x, &w, &b, &running, 0.0).unwrap();
    assert_eq!(*y.to_f32(), [6.5, -2.0]);
    let y = Cpu.batch_norm_inference(&x.cast(DType::F16).unwrap(), &w, &b, &running, 0.0);
    assert_eq!(y.unwrap().dtype(), DType::F16);
}

#[test]
fn a_large_common_offset_does_not_cancel_the_variance() {
    // E[x²] − E[x]² would leave nothing of it in f32.
    let x = Tensor::new(vec![4096.0_f32, 4097.0, 4098.0, 4099.0], &[4, 1]).unwrap();
    let (w, b) = (vector(&[1.0]), vector(&[0.0]));
    let y = Cpu.batch_norm(&x, &w, &b, &fresh(1), BatchNormConfig::default()).unwrap().output;
    let expected = [-1.5, -0.5, 0.5, 1.5].map(|x: f64| x / (1.25 + 1e-5_f64).sqrt());
    for (found, expected) in reals(&y).iter().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "{found}, expected {expected}");
    }
}
