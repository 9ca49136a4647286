//! What happens at the ends of the formats: long sums, infinities, NaN, nothing at all.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use binade_core::DType;
use binade_cpu::{Cpu, Tensor};
use binade_ops::*;
use common::{assert_same_bits, tensor};

const FLOATS: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

fn f32s(tensor: &Tensor) -> Vec<f32> {
    tensor.to_f32().into_owned()
}

fn of(values: &[f32]) -> Tensor {
    Tensor::new(values.to_vec(), &[values.len()]).unwrap()
}

#[test]
fn seventy_thousand_ones_are_seventy_thousand_ones_in_every_type() {
    for dtype in FLOATS {
        let ones = Cpu.fill(1.0, &[70_000], dtype).unwrap();
        assert_eq!(f32s(&Cpu.sum(&ones).unwrap()), [70_000.0], "{dtype}");
        assert_eq!(f32s(&Cpu.mean(&ones).unwrap()), [1.0], "{dtype}");
        assert_eq!(Cpu.sum(&ones).unwrap().dtype(), DType::F32);
    }
}

#[test]
fn a_sum_survives_cancellation_and_a_mean_the_overflow_of_its_sum() {
    let swing = [1e8, 1.0, -1e8].repeat(20_000);
    assert_eq!(f32s(&Cpu.sum(&of(&swing)).unwrap()), [20_000.0]);
    assert_eq!(f32s(&Cpu.mean(&of(&[f32::MAX; 9])).unwrap()), [f32::MAX]);
}

#[test]
fn the_bias_of_many_rows_is_summed_wide() {
    for dtype in FLOATS {
        let grad = Cpu.fill(1.0, &[70_000, 2], dtype).unwrap();
        let [_, bias] = Cpu.bias_add_backward(&grad).unwrap();
        let rounded = Cpu.fill(70_000.0, &[2], dtype).unwrap();
        assert_same_bits(&bias, &rounded, "bias");
    }
}

#[test]
fn a_thousand_lookups_of_one_row_lose_nothing() {
    let indices = Tensor::new(vec![1_i64; 4096], &[4096]).unwrap();
    for dtype in FLOATS {
        let grad = Cpu.fill(1.0, &[4096, 1], dtype).unwrap();
        let table = Cpu.embedding_backward(&grad, &indices, 3).unwrap();
        assert_eq!(f32s(&table), [0.0, 4096.0, 0.0], "{dtype}");
    }
}

#[test]
fn softmax_of_large_values_is_finite() {
    let x = of(&[60_000.0, 59_999.0, -60_000.0]);
    let y = f32s(&Cpu.softmax(&x).unwrap());
    assert!((y[0] - 0.731_058_6).abs() < 1e-6 && (y[1] - 0.268_941_4).abs() < 1e-6 && y[2] == 0.0);
    let logs = f32s(&Cpu.log_softmax(&x).unwrap());
    assert!(logs.iter().all(|x| x.is_finite()) && logs[2] < -119_999.0);
}

#[test]
fn softmax_takes_minus_infinity_for_a_masked_element() {
    let x = of(&[0.0, f32::NEG_INFINITY, 0.0]);
    assert_eq!(f32s(&Cpu.softmax(&x).unwrap()), [0.5, 0.0, 0.5]);
    assert_eq!(f32s(&Cpu.log_softmax(&x).unwrap())[1], f32::NEG_INFINITY);
}

#[test]
fn a_row_with_nan_or_infinity_or_nothing_is_nan_throughout() {
    for bad in [[f32::NAN, 1.0], [f32::INFINITY, 1.0], [f32::NEG_INFINITY; 2]] {
        for y in [Cpu.softmax(&of(&bad)), Cpu.log_softmax(&of(&bad))] {
            assert!(f32s(&y.unwrap()).iter().all(|x| x.is_nan()), "{bad:?}");
        }
    }
}

#[test]
fn cross_entropy_of_large_logits_is_finite_and_of_none_is_nan() {
    let logits = Tensor::new(vec![60_000.0_f32, -60_000.0], &[1, 2]).unwrap();
    let labels = Tensor::new(vec![1_i64], &[1]).unwrap();
    assert_eq!(f32s(&Cpu.cross_entropy(&logits, &labels).unwrap()), [120_000.0]);
    let none = Tensor::new(Vec::<i64>::new(), &[0]).unwrap();
    let nothing = Cpu.fill(0.0, &[0, 2], DType::F16).unwrap();
    assert!(f32s(&Cpu.cross_entropy(&nothing, &none).unwrap())[0].is_nan());
}

#[test]
fn a_nan_loss_shows() {
    let bad = of(&[f32::NAN, 0.0]);
    let good = of(&[0.0, 0.0]);
    for loss in [Cpu.mse_loss(&bad, &good), Cpu.sum(&bad), Cpu.mean(&bad)] {
        assert!(f32s(&loss.unwrap())[0].is_nan());
    }
}

#[test]
fn relu_lets_nan_through_and_its_gradient_too() {
    let y = Cpu.relu(&of(&[f32::NAN, -1.0, -0.0, 2.0, f32::INFINITY])).unwrap();
    let values = f32s(&y);
    assert!(values[0].is_nan());
    assert_eq!(values[1..], [0.0, 0.0, 2.0, f32::INFINITY]);
    assert!(values[2].is_sign_positive());
    let grads = Cpu.relu_backward(&of(&[1.0, 2.0, 3.0, 4.0, 5.0]), &y).unwrap();
    assert_eq!(f32s(&grads), [1.0, 0.0, 0.0, 4.0, 5.0]);
}

#[test]
fn gelu_and_tanh_have_their_limits_at_infinity() {
    let ends = of(&[f32::NEG_INFINITY, -200.0, 200.0, f32::INFINITY]);
    let limits = f32s(&Cpu.gelu(&ends).unwrap());
    assert_eq!(limits, [0.0, 0.0, 200.0, f32::INFINITY]);
    assert!(limits[..2].iter().all(|x| x.is_sign_negative()), "zero is reached from below");
    assert_eq!(f32s(&Cpu.tanh(&ends).unwrap()), [-1.0, -1.0, 1.0, 1.0]);
    let ones = of(&[1.0; 4]);
    assert_eq!(f32s(&Cpu.gelu_backward(&ones, &ends).unwrap()), [0.0, 0.0, 1.0, 1.0]);
    assert!(f32s(&Cpu.gelu(&of(&[f32::NAN])).unwrap())[0].is_nan());
    assert!(f32s(&Cpu.tanh(&of(&[f32::NAN])).unwrap())[0].is_nan());
}

#[test]
fn the_lower_tail_of_gelu_keeps_its_digits() {
    // −10·Φ(−10), Φ(−10) = 7.619853024160527e-24.
    let y = f32s(&Cpu.gelu(&of(&[-10.0])).unwrap())[0];
    assert!((y / -7.619_853e-23 - 1.0).abs() < 1e-6, "{y}");
}

#[test]
fn a_nan_is_the_largest_of_its_windows_and_takes_their_gradient() {
    let image = [1.0, f32::NAN, 3.0, f32::NAN, 5.0, 6.0];
    let image = Tensor::new(image.to_vec(), &[1, 1, 1, 6]).unwrap();
    let config = MaxPool2dConfig { kernel: [1, 2], stride: [1, 1], padding: [0, 0] };
    let y = f32s(&Cpu.max_pool2d(&image, config).unwrap());
    assert!(y[..4].iter().all(|x| x.is_nan()) && y[4] == 6.0, "{y:?}");
    let ones = Cpu.fill(1.0, &[1, 1, 1, 5], DType::F32).unwrap();
    let grad = Cpu.max_pool2d_backward(&ones, &image, config).unwrap();
    assert_eq!(f32s(&grad), [0.0, 2.0, 0.0, 2.0, 0.0, 1.0]);
}

#[test]
fn of_equal_elements_the_first_takes_the_gradient() {
    let image = Cpu.fill(-1.0, &[1, 1, 3, 3], DType::F32).unwrap();
    let config = MaxPool2dConfig { kernel: [3, 3], stride: [3, 3], padding: [1, 1] };
    let grad = Cpu.fill(1.0, &[1, 1, 1, 1], DType::F32).unwrap();
    let grad = f32s(&Cpu.max_pool2d_backward(&grad, &image, config).unwrap());
    assert_eq!(grad, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn overflow_in_sixteen_bits_is_infinity_after_one_rounding() {
    let big = Tensor::from_f32(vec![300.0; 4], &[2, 2], DType::F16).unwrap();
    assert!(f32s(&Cpu.matmul(&big, &big).unwrap()).iter().all(|x| *x == f32::INFINITY));
    // The products overflow f16, their sum does not.
    let a = Tensor::from_f32(vec![300.0, 300.0], &[1, 2], DType::F16).unwrap();
    let b = Tensor::from_f32(vec![300.0, -300.0], &[2, 1], DType::F16).unwrap();
    assert_eq!(f32s(&Cpu.matmul(&a, &b).unwrap()), [0.0]);
}

#[test]
fn a_long_product_in_sixteen_bits_is_rounded_once() {
    // Accumulated in 16 bits, ones would stop at 256 and 2048. 4098 lies between 4096 and 4100 in f16: a tie, to even.
    for (dtype, expected) in [(DType::BF16, 4096.0), (DType::F16, 4096.0), (DType::F32, 4098.0)] {
        let row = Cpu.fill(1.0, &[1, 4098], dtype).unwrap();
        let column = Cpu.fill(1.0, &[4098, 1], dtype).unwrap();
        assert_eq!(f32s(&Cpu.matmul(&row, &column).unwrap()), [expected], "{dtype}");
    }
    let (row, column) =
        (Cpu.fill(1.0, &[1, 4099], DType::F16), Cpu.fill(1.0, &[4099, 1], DType::F16));
    assert_eq!(f32s(&Cpu.matmul(&row.unwrap(), &column.unwrap()).unwrap()), [4100.0]);
}

#[test]
fn a_product_over_nothing_is_zero_and_with_a_bias_the_bias() {
    let none = |shape: &[usize]| tensor(shape, 1, DType::F16);
    let product = Cpu.matmul(&none(&[2, 0]), &none(&[0, 3])).unwrap();
    assert_same_bits(&product, &Cpu.fill(0.0, &[2, 3], DType::F16).unwrap(), "matmul");
    let bias = tensor(&[3], 2, DType::F16);
    let y = Cpu.linear(&none(&[1, 0]), &none(&[3, 0]), Some(&bias)).unwrap();
    assert_same_bits(&y, &bias.reshape(&[1, 3]).unwrap(), "linear");
    let image = Cpu.conv2d(
        &none(&[1, 0, 2, 2]),
        &none(&[3, 0, 2, 2]),
        Some(&bias),
        Conv2dConfig::default(),
    );
    assert_same_bits(&image.unwrap(), &bias.reshape(&[1, 3, 1, 1]).unwrap(), "conv2d");
}

#[test]
fn a_batch_of_nothing_goes_forward_and_back() {
    let config = Conv2dConfig::default();
    let (x, w, b) = (
        tensor(&[0, 2, 4, 4], 1, DType::F16),
        tensor(&[3, 2, 3, 3], 2, DType::F16),
        tensor(&[3], 3, DType::F16),
    );
    let y = Cpu.conv2d(&x, &w, Some(&b), config).unwrap();
    assert_eq!(y.shape(), [0, 3, 2, 2]);
    let grads = Cpu.conv2d_backward(&y, &x, &w, true, config).unwrap();
    assert!(f32s(&grads.weight).iter().chain(&f32s(&grads.bias.unwrap())).all(|x| *x == 0.0));
    let pooled = Cpu.max_pool2d(&y, MaxPool2dConfig::square(2)).unwrap();
    assert_eq!(Cpu.relu(&pooled).unwrap().shape(), [0, 3, 1, 1]);
    let rows = Cpu.reshape(&y, &[0, 12]).unwrap();
    let (w, b) = (tensor(&[5, 12], 1, DType::F16), tensor(&[5], 1, DType::F16));
    let logits = Cpu.linear(&rows, &w, Some(&b)).unwrap();
    let grads = Cpu.linear_backward(&logits, &rows, &w, true).unwrap();
    assert_eq!((grads.input.shape(), grads.weight.shape()), (&[0, 12][..], &[5, 12][..]));
    assert_eq!(Cpu.softmax(&logits).unwrap().shape(), [0, 5]);
    assert_eq!(f32s(&Cpu.sum(&logits).unwrap()), [0.0]);
    assert!(f32s(&Cpu.mean(&logits).unwrap())[0].is_nan());
}

#[test]
fn rows_of_no_width_are_no_trouble() {
    let x = tensor(&[3, 0], 1, DType::F32);
    let none = tensor(&[0], 1, DType::F32);
    for y in [Cpu.softmax(&x), Cpu.bias_add(&x, &none), Cpu.layer_norm(&x, &none, &none, 1e-5)] {
        assert_eq!(y.unwrap().shape(), [3, 0]);
    }
    let grads = Cpu.layer_norm_backward(&x, &x, &none, 1e-5).unwrap();
    assert_eq!(grads.weight.shape(), [0]);
    let [_, bias] = Cpu.bias_add_backward(&tensor(&[2, 3, 1, 0], 1, DType::F32)).unwrap();
    assert_eq!(f32s(&bias), [0.0; 3]);
}
