//! Numbers of every format, against its codes.

use binade_core::{
    DType, Format,
    cast::{E4M3, E5M2},
};
use half::{bf16, f16};

fn format(dtype: DType) -> Format {
    dtype.format().expect("a floating-point type")
}

fn pow2(exponent: i32) -> f64 {
    2f64.powi(exponent)
}

#[test]
fn each_format_has_the_numbers_of_its_specification() {
    type Row = (DType, (u32, u32), [f64; 4], bool);
    let of = |numbers: [f32; 4]| numbers.map(f64::from);
    let bf16 = [bf16::MAX, bf16::MIN_POSITIVE, bf16::MIN_POSITIVE_SUBNORMAL, bf16::EPSILON];
    let f16 = [f16::MAX, f16::MIN_POSITIVE, f16::MIN_POSITIVE_SUBNORMAL, f16::EPSILON];
    let single = [f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1), f32::EPSILON];
    let double = [f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1), f64::EPSILON];
    let rows: [Row; 6] = [
        (DType::BF16, (8, 8), bf16.map(bf16::to_f64), true),
        (DType::F16, (11, 5), f16.map(f16::to_f64), true),
        (DType::F32, (24, 8), of(single), true),
        (DType::F64, (53, 11), double, true),
        (DType::E4M3, (4, 4), [448.0, pow2(-6), pow2(-9), pow2(-3)], false),
        (DType::E5M2, (3, 5), [57344.0, pow2(-14), pow2(-16), pow2(-2)], true),
    ];
    for (dtype, bits, numbers, has_infinity) in rows {
        let Format { max, min_normal, min_subnormal, epsilon, .. } = format(dtype);
        assert_eq!([max, min_normal, min_subnormal, epsilon], numbers, "{dtype}");
        let facts = format(dtype);
        assert_eq!((facts.significand_bits, facts.exponent_bits), bits, "{dtype}");
        assert_eq!(facts.has_infinity, has_infinity, "{dtype}");
        let bits = facts.exponent_bits + facts.significand_bits;
        assert_eq!(bits as usize, 8 * dtype.bytes(), "{dtype}");
    }
}

#[test]
fn the_codes_of_the_8_bit_formats_reach_exactly_that_far() {
    let e4m3 = (0..=255).map(|bits| E4M3::from_bits(bits).to_f32());
    let e5m2 = (0..=255).map(|bits| E5M2::from_bits(bits).to_f32());
    check_extent(format(DType::E4M3), &e4m3.collect::<Vec<_>>());
    check_extent(format(DType::E5M2), &e5m2.collect::<Vec<_>>());
}

fn check_extent(facts: Format, values: &[f32]) {
    let positive = || values.iter().copied().filter(|value| *value > 0.0);
    let largest = positive().filter(|value| value.is_finite()).fold(0.0, f32::max);
    assert_eq!(f64::from(largest), facts.max);
    assert_eq!(f64::from(positive().fold(f32::MAX, f32::min)), facts.min_subnormal);
    let above_one = positive().filter(|value| *value > 1.0).fold(f32::MAX, f32::min);
    assert_eq!(f64::from(above_one) - 1.0, facts.epsilon);
    assert_eq!(positive().any(f32::is_infinite), facts.has_infinity);
}

#[test]
fn f64_is_a_float_that_autocast_does_not_touch_and_integers_are_none() {
    use DType::{BF16, Bool, E4M3, E5M2, F16, F32, F64, I32, I64, U8};
    for dtype in [BF16, F16, F32, E4M3, E5M2] {
        assert!(dtype.is_castable() && dtype.is_float(), "{dtype}");
    }
    assert!(F64.is_float() && !F64.is_castable());
    for dtype in [I64, I32, U8, Bool] {
        assert!(!dtype.is_castable() && !dtype.is_float(), "{dtype}");
        assert_eq!(dtype.format(), None, "{dtype}");
    }
}
