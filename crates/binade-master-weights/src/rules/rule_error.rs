//! Hyper-parameters out of their ranges.

use super::round;
use binade_core::{Error, ErrorKind};

pub(super) fn not_negative(name: &'static str, value: f64) -> Result<(), RuleError> {
    finite(name, value)?;
    need(value >= 0.0, name, value, "a finite number, 0 or above")
}

/// Checks that the number is finite in `f32`, the type of a step.
pub(super) fn finite(name: &'static str, value: f64) -> Result<(), RuleError> {
    need(value.is_finite(), name, value, "a finite number")?;
    need(round(value).is_finite(), name, value, "finite in f32, which steps compute in")
}

pub(super) fn betas_below_1(betas: [f64; 2]) -> Result<(), RuleError> {
    let mut named = ["betas[0]", "betas[1]"].into_iter().zip(betas);
    named.try_for_each(|(name, beta)| {
        need((0.0..1.0).contains(&beta), name, beta, "at least 0 and below 1")
    })
}

pub(super) fn need(
    met: bool,
    name: &'static str,
    value: f64,
    range: &'static str,
) -> Result<(), RuleError> {
    if met { Ok(()) } else { Err(RuleError { name, value, range }) }
}

/// Error for a hyper-parameter out of range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("`{name}` is {value}, and has to be {range}")]
pub struct RuleError {
    /// Name of the hyper-parameter.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Range that it has to be in.
    pub range: &'static str,
}

impl Error for RuleError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::InvalidArgument
    }
}

/// Asserts that the rules are refused, each by the name of the value.
#[cfg(test)]
pub(super) fn refused<const N: usize>(table: [(super::UpdateRule, &str); N]) {
    for (rule, name) in table {
        let error = rule.validate().unwrap_err();
        assert_eq!(error.name, name, "{rule:?}");
        assert!(error.to_string().starts_with(&format!("`{name}` is ")), "{error}");
    }
}
