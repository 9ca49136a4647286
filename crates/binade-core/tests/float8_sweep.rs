//! 8-bit casts against a search for the nearest decoded value.
//!
//! The test takes a strided sample of all `f32` patterns, and every one of the 2^32 if `BINADE_FULL` is set.

use binade_core::cast::{
    E4M3, E5M2, OnOverflow,
    OnOverflow::{NonFinite, Saturate},
};
use std::{env, ops::Range, thread};

/// Stride of the sample: a prime, so that it meets every low pattern.
const STRIDE: usize = 997;
const ALL: u64 = 1 << 32;

/// Magnitudes by code; the one past the largest is where it would be if the exponents went on.
struct Oracle {
    magnitudes: Vec<f64>,
    overflow: f32,
}

impl Oracle {
    /// Decodes by the definition: codes below `count` of `stored` significand bits and this bias are finite.
    fn new(count: i32, stored: i32, bias: i32, overflow: f32) -> Self {
        let magnitude = |code: i32| {
            let (exponent, fraction) = (code >> stored, code & ((1 << stored) - 1));
            let significand = if exponent == 0 { fraction } else { fraction + (1 << stored) };
            f64::from(significand) * 2f64.powi(exponent.max(1) - bias - stored)
        };
        Self { magnitudes: (0..=count).map(magnitude).collect(), overflow }
    }

    fn largest(&self) -> usize {
        self.magnitudes.len() - 2
    }

    /// Returns the code of the nearest magnitude, the even one of two; one more than the largest for an overflow.
    fn nearest(&self, magnitude: f64) -> usize {
        let above = self.magnitudes.partition_point(|candidate| *candidate < magnitude);
        if above == 0 {
            return 0;
        }
        let Some(upper) = self.magnitudes.get(above) else {
            return self.largest() + 1;
        };
        let (up, down) = (upper - magnitude, magnitude - self.magnitudes[above - 1]);
        if up < down || up == down && above % 2 == 0 { above } else { above - 1 }
    }

    /// Returns `value` rounded with saturation, and without.
    fn round(&self, value: f32) -> [(OnOverflow, f64); 2] {
        if value.is_nan() {
            return [(Saturate, f64::NAN), (NonFinite, f64::NAN)];
        }
        let code = self.nearest(f64::from(value.abs()));
        let saturated = self.magnitudes[code.min(self.largest())];
        let other = if code > self.largest() { f64::from(self.overflow) } else { saturated };
        let sign = f64::from(value);
        [(Saturate, saturated.copysign(sign)), (NonFinite, other.copysign(sign))]
    }
}

fn e4m3() -> Oracle {
    Oracle::new(0x7f, 3, 7, f32::NAN)
}

fn e5m2() -> Oracle {
    Oracle::new(0x7c, 2, 15, f32::INFINITY)
}

fn same(ours: f32, theirs: f64) -> bool {
    f64::from(ours).to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan()
}

/// Checks a part of the patterns, and returns the number that overflowed E4M3.
fn sweep(patterns: Range<u64>, stride: usize) -> u64 {
    let (e4m3, e5m2) = (e4m3(), e5m2());
    let mut overflows = 0;
    for pattern in patterns.step_by(stride) {
        let value = f32::from_bits(u32::try_from(pattern).expect("below 2^32"));
        for (on_overflow, theirs) in e4m3.round(value) {
            let ours = E4M3::from_f32(value, on_overflow).to_f32();
            assert!(same(ours, theirs), "{pattern:#010x} as e4m3: {ours}, not {theirs}");
            overflows += u64::from(ours.is_nan() && !value.is_nan());
        }
        for (on_overflow, theirs) in e5m2.round(value) {
            let ours = E5M2::from_f32(value, on_overflow).to_f32();
            assert!(same(ours, theirs), "{pattern:#010x} as e5m2: {ours}, not {theirs}");
        }
    }
    overflows
}

fn sweep_everything() -> u64 {
    let threads = thread::available_parallelism().map_or(1, usize::from) as u64;
    let part = |index: u64| ALL * index / threads..ALL * (index + 1) / threads;
    thread::scope(|scope| {
        let parts: Vec<_> =
            (0..threads).map(|index| scope.spawn(move || sweep(part(index), 1))).collect();
        parts.into_iter().map(|part| part.join().expect("a part that agrees")).sum()
    })
}

#[test]
fn eight_bit_casts_find_the_nearest_value() {
    if env::var_os("BINADE_FULL").is_none() {
        assert!(sweep(0..ALL, STRIDE) > 0);
        return;
    }
    // Torch 2.15, which saturates, and ml_dtypes 0.6.0 disagree on as many.
    assert_eq!(sweep_everything(), 1_999_634_432);
}

#[test]
fn the_oracle_decodes_as_the_codec_does() {
    for (code, magnitude) in e4m3().magnitudes[..0x7f].iter().enumerate() {
        let decoded = E4M3::from_bits(u8::try_from(code).unwrap()).to_f32();
        assert_eq!(f64::from(decoded), *magnitude);
    }
    for (code, magnitude) in e5m2().magnitudes[..0x7c].iter().enumerate() {
        let decoded = E5M2::from_bits(u8::try_from(code).unwrap()).to_f32();
        assert_eq!(f64::from(decoded), *magnitude);
    }
}
