//! Casts at the boundaries, and back and forth.

use binade_core::{
    DType, Element,
    cast::{
        self, E4M3, E5M2,
        OnOverflow::{NonFinite, Saturate},
    },
};
use half::{bf16, f16};

const NARROW: [DType; 4] = [DType::BF16, DType::F16, DType::E4M3, DType::E5M2];

fn next_up(value: f32) -> f32 {
    f32::from_bits(value.to_bits() + 1)
}

fn next_down(value: f32) -> f32 {
    f32::from_bits(value.to_bits() - 1)
}

fn nearest(value: f32, to: DType) -> f32 {
    cast::round(value, to, NonFinite).expect("castable")
}

/// Widens 16 bits by the definition: (-1)^s · 2^e · significand.
fn widen(pattern: u16, stored: i32, bias: i32) -> f64 {
    let pattern = i32::from(pattern);
    let (exponent, fraction) = ((pattern & 0x7fff) >> stored, pattern & ((1 << stored) - 1));
    let significand = if exponent == 0 { fraction } else { fraction + (1 << stored) };
    let sign = if pattern >> 15 == 0 { 1.0 } else { -1.0 };
    let all_ones = 0x7fff >> stored;
    match (exponent == all_ones, fraction == 0) {
        (true, true) => sign * f64::INFINITY,
        (true, false) => f64::NAN,
        _ => sign * f64::from(significand) * 2f64.powi(exponent.max(1) - bias - stored),
    }
}

fn check_pattern<T: Element>(pattern: u16, wide: f64, element: T, bits: impl Fn(T) -> u16) {
    let widened = element.to_f32();
    if wide.is_nan() {
        assert!(widened.is_nan() && T::from_f32(widened).to_f32().is_nan(), "{pattern:#06x}");
    } else {
        assert_eq!(f64::from(widened).to_bits(), wide.to_bits(), "{pattern:#06x}");
        assert_eq!(bits(T::from_f32(widened)), pattern);
    }
}

#[test]
fn every_bf16_pattern_widens_exactly_and_comes_back() {
    for pattern in 0..=u16::MAX {
        check_pattern(pattern, widen(pattern, 7, 127), bf16::from_bits(pattern), bf16::to_bits);
    }
}

#[test]
fn every_f16_pattern_widens_exactly_and_comes_back() {
    for pattern in 0..=u16::MAX {
        check_pattern(pattern, widen(pattern, 10, 15), f16::from_bits(pattern), f16::to_bits);
    }
}

#[test]
fn every_8_bit_pattern_comes_back() {
    for bits in 0..=u8::MAX {
        let (e4m3, e5m2) = (E4M3::from_bits(bits), E5M2::from_bits(bits));
        for on_overflow in [Saturate, NonFinite] {
            let back = E4M3::from_f32(e4m3.to_f32(), on_overflow);
            assert!(back.to_bits() == bits || e4m3.to_f32().is_nan() && back.to_f32().is_nan());
        }
        let back = E5M2::from_f32(e5m2.to_f32(), NonFinite);
        assert!(back.to_bits() == bits || e5m2.to_f32().is_nan() && back.to_f32().is_nan());
    }
}

#[test]
fn f16_overflows_from_halfway_to_the_next_step() {
    assert_eq!(nearest(65519.996, DType::F16), 65504.0);
    assert_eq!(nearest(65520.0, DType::F16), f32::INFINITY);
    assert_eq!(nearest(-65519.996, DType::F16), -65504.0);
    assert_eq!(nearest(-65520.0, DType::F16), f32::NEG_INFINITY);
    assert_eq!(cast::round(-65520.0, DType::F16, Saturate), Some(-65504.0));
}

#[test]
fn f16_flushes_up_to_half_its_smallest_subnormal() {
    let half_step = 2f32.powi(-25);
    assert_eq!(nearest(half_step, DType::F16), 0.0);
    assert_eq!(nearest(next_up(half_step), DType::F16), 2f32.powi(-24));
    assert_eq!(nearest(-half_step, DType::F16).to_bits(), (-0.0f32).to_bits());
}

#[test]
fn bf16_overflows_below_the_largest_f32() {
    let halfway = f32::from_bits(0x7f7f_8000);
    assert_eq!(nearest(next_down(halfway), DType::BF16), bf16::MAX.to_f32());
    assert_eq!(nearest(halfway, DType::BF16), f32::INFINITY);
    assert_eq!(cast::round(f32::MAX, DType::BF16, Saturate), Some(bf16::MAX.to_f32()));
}

#[test]
fn e4m3_overflows_beyond_464() {
    assert_eq!(nearest(464.0, DType::E4M3), 448.0);
    assert!(nearest(next_up(464.0), DType::E4M3).is_nan());
    assert!(nearest(-next_up(464.0), DType::E4M3).is_nan());
    assert_eq!(cast::round(next_up(464.0), DType::E4M3, Saturate), Some(448.0));
    assert_eq!(cast::round(-1e30, DType::E4M3, Saturate), Some(-448.0));
}

#[test]
fn e5m2_overflows_from_61440() {
    assert_eq!(nearest(next_down(61440.0), DType::E5M2), 57344.0);
    assert_eq!(nearest(61440.0, DType::E5M2), f32::INFINITY);
    assert_eq!(cast::round(61440.0, DType::E5M2, Saturate), Some(57344.0));
}

#[test]
fn ties_go_to_even() {
    let cases = [
        (DType::BF16, 1.0 + 2f32.powi(-8), 1.0),
        (DType::BF16, 1.0 + 3.0 * 2f32.powi(-8), 1.0 + 2f32.powi(-6)),
        (DType::F16, 1.0 + 2f32.powi(-11), 1.0),
        (DType::F16, 1.0 + 3.0 * 2f32.powi(-11), 1.0 + 2f32.powi(-9)),
        (DType::E4M3, 1.0625, 1.0),
        (DType::E4M3, 1.1875, 1.25),
        (DType::E4M3, 1.5 * 2f32.powi(-9), 2f32.powi(-8)),
        (DType::E5M2, 1.125, 1.0),
        (DType::E5M2, 1.375, 1.5),
        (DType::E5M2, 2.5 * 2f32.powi(-16), 2f32.powi(-15)),
    ];
    for (to, value, expected) in cases {
        assert_eq!(nearest(value, to), expected, "{value} as {to}");
        assert_eq!(nearest(-value, to), -expected, "-{value} as {to}");
    }
}

#[test]
fn the_largest_subnormal_rounds_up_into_the_smallest_normal() {
    for to in NARROW {
        let format = to.format().expect("a float");
        #[expect(
            clippy::cast_possible_truncation,
            reason = "every normal of these is one of f32's"
        )]
        let normal = format.min_normal as f32;
        assert_eq!(nearest(next_down(normal), to), normal, "{to}");
    }
}

#[test]
fn nan_stays_nan_and_keeps_its_sign() {
    for to in NARROW {
        for on_overflow in [Saturate, NonFinite] {
            for payload in [0x7f80_0001, 0x7f80_8000, 0x7fc0_0000, 0x7fff_ffff] {
                let stored =
                    cast::round(f32::from_bits(payload), to, on_overflow).expect("castable");
                assert!(stored.is_nan(), "{payload:#x} as {to}");
            }
        }
    }
    assert_eq!(E4M3::from_f32(-f32::NAN, NonFinite).to_bits(), 0xff);
    assert_eq!(E5M2::from_f32(-f32::NAN, NonFinite).to_bits(), 0xfe);
}

#[test]
fn a_nan_becomes_the_quiet_one_of_its_sign_and_the_same_f32_again() {
    for (sign, low, high) in [(0_u32, 0_u16, 0_u8), (1 << 31, 1 << 15, 1 << 7)] {
        for nan in [0x7f80_0001, 0x7fc0_0000].map(|bits| f32::from_bits(sign | bits)) {
            assert_eq!(bf16::from_f32(nan).to_bits(), low | 0x7fc0);
            assert_eq!(f16::from_f32(nan).to_bits(), low | 0x7e00);
            assert_eq!(E4M3::from_f32(nan, NonFinite).to_bits(), high | 0x7f);
            assert_eq!(E5M2::from_f32(nan, NonFinite).to_bits(), high | 0x7e);
        }
        let back = [E4M3::from_bits(high | 0x7f).to_f32(), E5M2::from_bits(high | 0x7e).to_f32()];
        assert_eq!(back.map(f32::to_bits), [sign | 0x7fc0_0000; 2]);
    }
}

#[test]
fn infinity_saturates_only_where_asked() {
    for to in NARROW {
        let stored = nearest(f32::NEG_INFINITY, to);
        let has_infinity = to.format().is_some_and(|format| format.has_infinity);
        assert!(if has_infinity { stored == f32::NEG_INFINITY } else { stored.is_nan() }, "{to}");
        let saturated = cast::round(f32::NEG_INFINITY, to, Saturate).expect("castable");
        assert_eq!(Some(f64::from(-saturated)), to.format().map(|format| format.max), "{to}");
    }
}

#[test]
fn f32_is_stored_as_it_is() {
    for bits in [0, 0x8000_0000, 1, 0x7f80_0000, 0x7f80_0001, 0x7f7f_ffff] {
        let stored = cast::round(f32::from_bits(bits), DType::F32, Saturate);
        assert_eq!(stored.map(f32::to_bits), Some(bits));
    }
}

#[test]
fn what_autocast_never_casts_has_no_rounding() {
    for to in [DType::F64, DType::I64, DType::I32, DType::U8, DType::Bool] {
        assert_eq!(cast::round(1.0, to, NonFinite), None, "{to}");
    }
}

#[test]
fn eight_bit_floats_compare_and_print_as_numbers() {
    assert_ne!(E4M3::NAN, E4M3::NAN);
    assert_eq!(E5M2::from_bits(0x80), E5M2::from_bits(0));
    assert!(E4M3::from_bits(0x80 | 0x7e) < E4M3::MAX);
    assert_eq!(format!("{} {:?}", E4M3::MAX, E5M2::INFINITY), "448 inf");
    assert_eq!(f32::from(E5M2::MAX), 57344.0);
}
