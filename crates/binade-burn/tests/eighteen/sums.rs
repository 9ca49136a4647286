//! Case 4: the type that burn accumulates in. These are burn's own operations, on its backend for CPUs.

use crate::common::floats;
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

/// The sum rounded once from f32: infinity in f16; in bf16 the nearest value, where the spacing is 512.
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
