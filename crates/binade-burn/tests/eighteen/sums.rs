//! Cases 4 and 5: the type that burn accumulates in. These are burn's own operations, on its backend for CPUs.

use crate::common::{draw, floats};
use burn::tensor::{Device, FloatDType, Tensor, f16};

const HALVES: [FloatDType; 2] = [FloatDType::BF16, FloatDType::F16];

fn ones(dtype: FloatDType) -> Tensor<1> {
    Tensor::<1>::ones([70_000], &Device::flex()).cast(dtype)
}

/// Case 4: candle's sum stops at 2048, dfdx's mean divides by infinity (dfdx#748).
#[test]
fn seventy_thousand_ones_are_seventy_thousand_where_the_sum_is_asked_for_in_f32() {
    for dtype in HALVES {
        let wide = ones(dtype).cast(FloatDType::F32);
        assert_eq!(floats(wide.clone().sum()), [70_000.0], "{dtype:?}");
        assert_eq!(floats(wide.mean()), [1.0], "{dtype:?}");
    }
}

/// Sum that is rounded once, from f32: in f16 that is infinity, in bf16 the nearest of a spacing of 512.
#[test]
fn a_sum_in_sixteen_bits_is_rounded_once_at_its_end() {
    let [bf16, f16] = HALVES.map(|dtype| floats(ones(dtype).sum())[0]);
    assert_eq!((bf16, f16), (70_144.0, f32::INFINITY));
}

#[test]
fn a_mean_in_sixteen_bits_is_one() {
    for dtype in HALVES {
        assert_eq!(floats(ones(dtype).mean()), [1.0], "{dtype:?}");
    }
}

/// Operands of a dot product, in `dtype`: positive, so that a sum that is rounded as it grows falls behind.
fn operands(dtype: FloatDType, k: usize) -> [Tensor<1>; 2] {
    [1, 2].map(|seed| {
        let positive: Vec<f32> = draw(k, seed).into_iter().map(f32::abs).collect();
        Tensor::from_floats(positive.as_slice(), &Device::flex()).cast(dtype)
    })
}

/// Error of `got` beyond one rounding of the dot product in `f64` to `dtype`, as a share of what sums in `f32` are allowed:
/// `K·2^-24·Σ|a·b|`.
fn share(dtype: FloatDType, [a, b]: [Tensor<1>; 2], got: f32) -> f64 {
    let pairs = floats(a).into_iter().zip(floats(b));
    let products: Vec<f64> = pairs.map(|(a, b)| f64::from(a) * f64::from(b)).collect();
    let exact: f64 = products.iter().sum();
    let rounding = exact * 2.0_f64.powi(if dtype == FloatDType::BF16 { -8 } else { -11 });
    let terms = f64::from(u32::try_from(products.len()).unwrap_or(u32::MAX));
    ((f64::from(got) - exact).abs() - rounding) / (terms * 2.0_f64.powi(-24) * exact)
}

/// Case 5: tract#2588, 0.69 % at K = 4096 for sums in f16.
#[test]
fn a_dot_product_of_halves_is_as_near_as_sums_in_f32_allow() {
    for dtype in HALVES {
        for k in [256, 512, 1024, 2048, 4096] {
            let [a, b] = operands(dtype, k);
            let product = a.clone().reshape([1, k]).matmul(b.clone().reshape([k, 1]));
            let share = share(dtype, [a, b], floats(product)[0]);
            assert!(share <= 1.0, "{dtype:?}, K = {k}: {share}");
        }
    }
}

/// Counterexample to the test above: a sum of which each part is rounded to f16.
#[test]
fn a_dot_product_that_is_added_up_in_f16_is_not() {
    let [a, b] = operands(FloatDType::F16, 4096);
    let pairs = floats(a.clone()).into_iter().zip(floats(b.clone()));
    let sum = pairs.fold(f16::ZERO, |sum, (a, b)| f16::from_f32(a.mul_add(b, sum.to_f32())));
    let share = share(FloatDType::F16, [a, b], sum.to_f32());
    assert!(share > 1.0, "{share}");
}
