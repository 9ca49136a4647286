//! Stochastic rounding gives the value on average: exactly, over every random word that matters.

use binade_core::{DType, cast::OnOverflow::NonFinite, stochastic};

fn round(value: f32, to: DType, bits: u32) -> f32 {
    stochastic::round(value, to, bits, NonFinite).expect("castable")
}

/// Returns the mean over all words that differ in their upper `width` bits.
///
/// Every result is a multiple of one ulp and few of them differ, so that no sum here rounds.
fn mean(value: f32, to: DType, width: u32) -> f64 {
    let words = 1_u32 << width;
    let sum: f64 = (0..words).map(|top| f64::from(round(value, to, top << (32 - width)))).sum();
    sum / f64::from(words)
}

#[test]
fn the_mean_is_the_value_among_normals_and_subnormals() {
    let bf16_subnormals = [1, 0x8001, 0xffff, 0x1_0001, 0x7f_ffff, 0x80_0001].map(f32::from_bits);
    let below_half_a_step = 2.7e-8;
    for (to, width, values) in [
        (DType::BF16, 16, &[1.0 + 1e-6, 0.1, 7.3, 1e-20, 65519.996, 1.9999999, 2.9e38][..]),
        (DType::BF16, 16, &bf16_subnormals),
        (DType::F16, 13, &[1.0 + 1e-6, 0.1, 7.3, 65503.996, 6.2e-5]),
        (DType::F16, 20, &[6.1e-5, 1e-6]),
        (DType::F16, 25, &[3e-7, 5e-8, below_half_a_step]),
        (DType::E4M3, 20, &[1.001, 0.1, 447.0, 0.0157]),
        (DType::E4M3, 24, &[0.0155, 0.003, 0.001]),
        (DType::E5M2, 21, &[1.001, 0.1, 57000.0, 6.2e-5]),
        (DType::E5M2, 24, &[6.0e-5, 2e-5, 1e-5]),
    ] {
        for value in values.iter().flat_map(|value| [*value, -value]) {
            assert_eq!(mean(value, to, width), f64::from(value), "{value:e} to {to}");
        }
    }
}

/// Returns the number of words of this many upper bits that round up.
fn ups(value: f32, to: DType, width: u32) -> u32 {
    (0..1 << width).filter(|top| round(value, to, top << (32 - width)) > 0.0).fold(0, |n, _| n + 1)
}

#[test]
fn far_below_the_smallest_subnormal_chances_are_multiples_of_two_to_the_minus_31() {
    let smallest = 2f32.powi(-24);
    let chance = |exponent: i32| smallest * 2f32.powi(exponent);
    let rounds_up = |value, bits| round(value, DType::F16, bits) == smallest;
    // One word in 2^31 rounds up: the one whose upper bits are all ones.
    assert!(rounds_up(chance(-31), u32::MAX));
    assert!(!rounds_up(chance(-31), u32::MAX - 2));
    assert!(rounds_up(1.9 * chance(-31), u32::MAX));
    assert!(!rounds_up(1.9 * chance(-31), u32::MAX - 2));
    // No word rounds up.
    assert!(!rounds_up(1.9 * chance(-32), u32::MAX));
    assert!(!rounds_up(f32::from_bits(1), u32::MAX));
    // With enough bits of fraction, as many words round up as it says.
    assert_eq!(ups(chance(-5), DType::F16, 16), 1 << 11);
    assert_eq!(ups(chance(-8), DType::F16, 16), 1 << 8);
    assert_eq!(ups(chance(-9), DType::F16, 16), 1 << 7);
}

#[test]
fn overflow_is_as_likely_as_the_way_to_the_next_step() {
    let overflows = |value, to, width: u32| {
        let all = 0..1_u32 << width;
        all.filter(|top| !round(value, to, top << (32 - width)).is_finite()).fold(0, |n, _| n + 1)
    };
    // A quarter of the way from 65504 to 65536, from 448 to 480, from 57344 to 65536.
    assert_eq!(overflows(65512.0, DType::F16, 13), 1 << 11);
    assert_eq!(overflows(456.0, DType::E4M3, 20), 1 << 18);
    assert_eq!(overflows(59392.0, DType::E5M2, 21), 1 << 19);
    assert_eq!(overflows(f32::MAX, DType::BF16, 16), 0xffff);
    assert_eq!(overflows(65536.0, DType::F16, 13), 1 << 13);
    assert_eq!(overflows(65504.0, DType::F16, 13), 0);
}
