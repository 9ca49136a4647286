//! Parsers of numbers and names on the command line, with errors that say what to give instead.

use binade::grad_scaler::LossScale;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Parses a finite number above 0.
pub(crate) fn learning_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| "a learning rate is a finite number above 0, such as 0.004".into())
}

/// Parses a finite number above 0.
pub(crate) fn clip_norm(text: &str) -> Result<f32, String> {
    let norm = text.parse().ok().filter(|norm: &f32| norm.is_finite() && *norm > 0.0);
    norm.ok_or_else(|| {
        "a norm to clip to is a finite number above 0, such as 1; leave it out to clip nothing"
            .into()
    })
}

/// Parses a whole number from 0.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}, such as 7", u64::MAX))
}

/// Parses a power of two, as a number or as `2^N`.
pub(crate) fn scale(text: &str) -> Result<f32, String> {
    let power = |exponent: &str| Some(2.0_f32.powi(exponent.parse().ok()?));
    let scale = text.strip_prefix("2^").map_or_else(|| text.parse().ok(), power);
    scale.filter(|&scale| LossScale::dynamic().with_init_scale(scale).is_ok()).ok_or_else(|| {
        "a loss scale is a power of two from 2^-126 to 2^126, such as 65536 or 2^16".into()
    })
}

/// Parses a loss-scale rule by name; help and errors list the names.
pub(crate) fn loss_scale() -> impl TypedValueParser<Value = LossScale> {
    let names = PossibleValuesParser::new(LossScale::presets().map(|(name, _)| name));
    names.try_map(|name| LossScale::preset(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_a_power_of_two_in_digits_or_as_a_power() {
        for (text, factor) in [("65536", 65536.0), ("2^16", 65536.0), ("0.5", 0.5), ("2^-1", 0.5)] {
            assert_eq!(scale(text), Ok(factor), "{text}");
        }
        for text in ["1000", "0", "-2", "NaN", "inf", "2^", "2^999", "2^-999", "two", ""] {
            assert!(scale(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_seed_is_a_whole_number_from_zero() {
        assert_eq!(seed("0"), Ok(0));
        assert_eq!(seed("18446744073709551615"), Ok(u64::MAX));
        for text in ["-1", "1.5", "18446744073709551616", "x", ""] {
            assert!(seed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_and_norms_are_finite_and_above_zero() {
        assert_eq!((learning_rate("1e-3"), clip_norm("0.5")), (Ok(1e-3), Ok(0.5)));
        for text in ["0", "-1", "NaN", "inf", "1e-999", "fast", ""] {
            assert!(learning_rate(text).is_err() && clip_norm(text).is_err(), "{text}");
        }
    }
}
