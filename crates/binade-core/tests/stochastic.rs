//! Properties of stochastic rounding for any value and any word.

use binade_core::{
    DType,
    cast::{
        self,
        OnOverflow::{self, NonFinite, Saturate},
    },
    stochastic,
};
use proptest::prelude::*;

const NARROW: [DType; 4] = [DType::BF16, DType::F16, DType::E4M3, DType::E5M2];

fn round(value: f32, to: DType, bits: u32, on_overflow: OnOverflow) -> f32 {
    stochastic::round(value, to, bits, on_overflow).expect("castable")
}

fn nearest(value: f32, to: DType) -> f32 {
    cast::round(value, to, Saturate).expect("castable")
}

fn max(to: DType) -> f32 {
    nearest(f32::INFINITY, to)
}

fn narrow() -> impl Strategy<Value = DType> {
    prop::sample::select(&NARROW[..])
}

/// Returns any pattern, and as often a value that the narrow formats do not overflow on.
fn any_f32() -> impl Strategy<Value = f32> {
    prop_oneof![any::<u32>().prop_map(f32::from_bits), -1000f32..1000.0, -1e-6f32..1e-6]
}

/// Returns a type, and a value that it holds.
fn held() -> impl Strategy<Value = (DType, f32)> {
    (narrow(), any_f32()).prop_map(|(to, value)| (to, nearest(value, to)))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(4096),
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn what_the_format_holds_is_unchanged((to, value) in held(), bits: u32) {
        let rounded = round(value, to, bits, Saturate);
        prop_assert!(rounded.to_bits() == value.to_bits() || rounded.is_nan() && value.is_nan());
    }

    /// No value of the format lies strictly between a value and its rounding.
    #[test]
    fn a_value_goes_to_a_neighbour(to in narrow(), value in any_f32(), bits: u32) {
        prop_assume!(value.abs() <= max(to));
        let rounded = round(value, to, bits, NonFinite);
        prop_assert!(rounded.is_finite());
        prop_assert_eq!(nearest(rounded, to), rounded);
        let between = nearest(f32::midpoint(value, rounded), to);
        let (low, high) = if value < rounded { (value, rounded) } else { (rounded, value) };
        prop_assert!(!(low < between && between < high), "{between} between {low} and {high}");
    }

    #[test]
    fn signs_stay_and_rounding_is_symmetric(to in narrow(), value in any_f32(), bits: u32) {
        prop_assume!(!value.is_nan());
        let (rounded, mirrored) = (round(value, to, bits, Saturate), round(-value, to, bits, Saturate));
        prop_assert_eq!(rounded.to_bits(), (-mirrored).to_bits());
        prop_assert_eq!(rounded.is_sign_negative(), value.is_sign_negative());
    }

    #[test]
    fn for_one_word_a_larger_value_never_rounds_to_a_smaller_one(
        to in narrow(), value in any_f32(), distance in 0u32..1 << 24, bits: u32
    ) {
        let other = f32::from_bits(value.to_bits().wrapping_add(distance));
        prop_assume!(!value.is_nan() && !other.is_nan());
        let [low, high] = [value.min(other), value.max(other)];
        prop_assert!(round(low, to, bits, Saturate) <= round(high, to, bits, Saturate));
    }

    #[test]
    fn nan_stays_nan(to in narrow(), payload in 1u32..=0x7f_ffff, negative: bool, bits: u32) {
        let nan = f32::from_bits(0x7f80_0000 | payload | u32::from(negative) << 31);
        for on_overflow in [Saturate, NonFinite] {
            let rounded = round(nan, to, bits, on_overflow);
            prop_assert!(rounded.is_nan());
        }
    }

    #[test]
    fn saturating_is_never_infinite(to in narrow(), value in any_f32(), bits: u32) {
        prop_assume!(!value.is_nan());
        prop_assert!(round(value, to, bits, Saturate).abs() <= max(to));
    }
}

#[test]
fn infinity_stays_infinity_unless_it_saturates() {
    for bits in [0, u32::MAX] {
        for to in [DType::BF16, DType::F16, DType::E5M2] {
            assert_eq!(round(f32::NEG_INFINITY, to, bits, NonFinite), f32::NEG_INFINITY, "{to}");
        }
        assert!(round(f32::INFINITY, DType::E4M3, bits, NonFinite).is_nan());
        for to in NARROW {
            assert_eq!(round(f32::NEG_INFINITY, to, bits, Saturate), -max(to), "{to}");
        }
    }
}

#[test]
fn what_autocast_never_casts_is_not_rounded() {
    assert_eq!(stochastic::round(0.1, DType::F32, u32::MAX, Saturate), Some(0.1));
    for to in [DType::F64, DType::I64, DType::I32, DType::U8, DType::Bool] {
        assert_eq!(stochastic::round(0.1, to, 0, Saturate), None, "{to}");
    }
}

#[test]
fn a_threshold_is_the_share_of_words_below_it() {
    assert_eq!([0.0, 1.0, 0.5, 0.25].map(stochastic::threshold), [0, 1 << 32, 1 << 31, 1 << 30]);
    // Below 2^-32 nothing is left, and the fraction is cut off: 0.1 is 429496736.0 / 2^32 in f32.
    assert_eq!([2.0_f32.powi(-33), 0.1].map(stochastic::threshold), [0, 429_496_736]);
}
