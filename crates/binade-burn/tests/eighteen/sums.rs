//! 4 and 5: what burn accumulates in. These are burn's own operations, on its backend for CPUs.

use crate::common::{draw, floats};
use burn::tensor::{Device, FloatDType, Tensor};

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

/// The sum is rounded once, from f32: in f16 that is infinity, in bf16 the nearest of a spacing of 512.
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

/// How far burn's product of a row and a column is from that in `f64`, beyond the one rounding of the result, as a share of
/// what sums in `f32` are allowed: `K·2^-24·Σ|a·b|`.
fn share(dtype: FloatDType, k: usize) -> f64 {
    let device = Device::flex();
    let of = |seed| Tensor::<1>::from_floats(draw(k, seed).as_slice(), &device).cast(dtype);
    let (a, b) = (of(1), of(2));
    let products: Vec<f64> = floats(a.clone())
        .into_iter()
        .zip(floats(b.clone()))
        .map(|(a, b)| f64::from(a) * f64::from(b))
        .collect();
    let (exact, size) =
        (products.iter().sum::<f64>(), products.iter().map(|p| p.abs()).sum::<f64>());
    let got = f64::from(floats(a.reshape([1, k]).matmul(b.reshape([k, 1])))[0]);
    let ulps = if dtype == FloatDType::BF16 { -8 } else { -11 };
    let rounding = exact.abs() * 2.0_f64.powi(ulps);
    let terms = f64::from(u32::try_from(k).unwrap_or(u32::MAX));
    ((got - exact).abs() - rounding).max(0.0) / (terms * 2.0_f64.powi(-24) * size)
}

/// Case 5: tract#2588, 0.69 % at K = 4096 for sums in f16.
#[test]
fn a_dot_product_of_halves_is_as_near_as_sums_in_f32_allow() {
    for dtype in HALVES {
        for k in [256, 512, 1024, 2048, 4096] {
            let share = share(dtype, k);
            println!("{dtype:?}, K = {k}: {share:.4} of the bound");
            assert!(share <= 1.0, "{dtype:?}, K = {k}: {share}");
        }
    }
}
