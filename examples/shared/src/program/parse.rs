//! Parsers of numbers and names on the command line, with errors that say what to give instead.

use binade::core::DType;
use binade::grad_scaler::LossScale;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::str::FromStr;

/// Parses a finite number above 0.
///
/// # Errors
///
/// If `text` is none: a sentence that says what to take.
pub fn above_zero<T: FromStr + Copy + Into<f64>>(text: &str) -> Result<T, String> {
    let is_above = |it: &T| (*it).into().is_finite() && (*it).into() > 0.0;
    let number = text.parse().ok().filter(is_above);
    number.ok_or_else(|| "take a finite number above 0, such as 0.5, or leave it out".into())
}

/// Parses a loss scale: a power of two, as a number or as `2^N`.
///
/// # Errors
///
/// If `text` is none: a sentence that says what to take.
pub fn scale(text: &str) -> Result<f32, String> {
    let power = |exponent: &str| Some(2.0_f32.powi(exponent.parse().ok()?));
    let scale = text.strip_prefix("2^").map_or_else(|| text.parse().ok(), power);
    scale.filter(|&scale| LossScale::dynamic().with_init_scale(scale).is_ok()).ok_or_else(|| {
        "a loss scale is a power of two from 2^-126 to 2^126, such as 65536 or 2^16".into()
    })
}

/// Parses a loss-scale rule by name; help and errors list the names.
pub fn loss_scale() -> impl TypedValueParser<Value = LossScale> {
    let names = PossibleValuesParser::new(LossScale::PRESETS.iter().map(|(name, _)| *name));
    names.try_map(|name| LossScale::preset(&name))
}

/// Parses a low type by name.
pub fn low_type() -> impl TypedValueParser<Value = DType> {
    let names = [
        PossibleValue::new("bf16").help("bfloat16"),
        PossibleValue::new("f16").help("IEEE half precision"),
    ];
    PossibleValuesParser::new(names)
        .map(|name| if name == "f16" { DType::F16 } else { DType::BF16 })
}
