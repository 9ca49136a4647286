//! Casts at the boundaries that `golden_casts` and `float8_sweep` leave out, and NaN.

use binade_core::{
    DType,
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

fn nearest(value: f32, to: DType) -> f32 {
    cast::round(value, to, NonFinite).expect("castable")
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
        // So does what rounds past the largest.
        assert_eq!(cast::round(-f32::MAX, to, Saturate), Some(saturated), "{to}");
    }
}

#[test]
fn what_autocast_never_casts_has_no_rounding() {
    for to in [DType::F64, DType::I64, DType::I32, DType::U8, DType::Bool] {
        assert_eq!(cast::round(1.0, to, NonFinite), None, "{to}");
    }
    for bits in [0, 0x8000_0000, 1, 0x7f80_0000, 0x7f80_0001, 0x7f7f_ffff] {
        let stored = cast::round(f32::from_bits(bits), DType::F32, Saturate);
        assert_eq!(stored.map(f32::to_bits), Some(bits), "f32 is stored as it is");
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
