//! Numbers as recordings write them, and equality up to the choice of a NaN.

use super::error::Wrong;
use serde::{Deserialize, Deserializer, de};

/// A scalar. It is written twice, as a decimal for people and as bits: where the two disagree, one was changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Num(pub(super) f64);

impl<'de> Deserialize<'de> for Num {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Written {
            dec: String,
            f64: String,
        }
        let Written { dec, f64 } = Written::deserialize(deserializer)?;
        let digits = f64.strip_prefix("0x").unwrap_or(&f64);
        let bits = u64::from_str_radix(digits, 16).map_err(|error| {
            de::Error::custom(format!("`{f64}` is not the bits of an f64: {error}"))
        })?;
        let number = f64::from_bits(bits);
        if dec.parse().is_ok_and(|x: f64| x.to_bits() == bits || x.is_nan() && number.is_nan()) {
            return Ok(Self(number));
        }
        Err(de::Error::custom(format!("its bits are of {number:e}, and its decimal is {dec}")))
    }
}

/// The values of a list of bits.
pub(super) fn floats(bits: &[u32]) -> Vec<f32> {
    bits.iter().map(|&bits| f32::from_bits(bits)).collect()
}

/// A number as `f32`, which libraries round it to.
#[expect(clippy::cast_possible_truncation, reason = "rounds to f32 on purpose")]
pub(super) fn narrow(x: f64) -> f32 {
    x as f32
}

/// Returns the exponent of a power of two that is in the range of scales.
pub(super) fn exponent(x: f64) -> Option<i32> {
    (-126..=126).find(|&n| 2_f64.powi(n) == x)
}

/// Passes where every element has the recorded bits, or both are NaN.
pub(super) fn same_bits(what: &str, got: &[f32], recorded: &[u32]) -> Result<(), Wrong> {
    if got.len() != recorded.len() {
        return Err(Wrong::Result(format!(
            "{what} has {} elements, and had {}",
            got.len(),
            recorded.len()
        )));
    }
    let differs = |(&got, &was): (&f32, &u32)| !equal(got, f32::from_bits(was));
    match got.iter().zip(recorded).position(differs) {
        None => Ok(()),
        Some(i) => {
            Err(Wrong::Result(show(&format!("{what}[{i}]"), got[i], f32::from_bits(recorded[i]))))
        }
    }
}

/// Passes where both are the same number, or both NaN.
pub(super) fn same_num(what: &str, got: f64, recorded: f64) -> Result<(), Wrong> {
    if got.to_bits() == recorded.to_bits() || got.is_nan() && recorded.is_nan() {
        return Ok(());
    }
    Err(Wrong::Result(format!("{what} is {got:e}, and was {recorded:e}")))
}

/// Returns true if both have the same bits, or are NaN.
pub(super) fn equal(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

pub(super) fn show(what: &str, got: f32, was: f32) -> String {
    format!(
        "{what} is {got:e} ({:#010x}), and was {was:e} ({:#010x})",
        got.to_bits(),
        was.to_bits()
    )
}
