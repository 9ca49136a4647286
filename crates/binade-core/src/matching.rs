//! Sets that must list the same parameters.

use crate::{Error, ErrorKind};
use std::sync::Arc;

/// Two sets disagree about a parameter.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{parameter}`: {why}")]
pub struct MatchError {
    /// The parameter's name.
    pub parameter: Arc<str>,
    /// About what, and what to do.
    pub why: &'static str,
}

impl MatchError {
    /// They disagree about `parameter`.
    pub fn new(parameter: &Arc<str>, why: &'static str) -> Self {
        Self { parameter: parameter.clone(), why }
    }
}

impl Error for MatchError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Mismatch
    }
}

const MICRO_BATCHES: &str = "micro-batches of one window must list the same parameters, of the same shapes, in the same order";

/// Both sets list the same parameters in the same order, of the same shapes where both have a gradient.
///
/// # Errors
///
/// The first parameter that they disagree about.
pub fn agree<'a, 'b>(
    sum: impl Iterator<Item = (&'a Arc<str>, Option<&'a [usize]>)>,
    grads: impl Iterator<Item = (&'b Arc<str>, Option<&'b [usize]>)>,
) -> Result<(), MatchError> {
    let (mut sum, mut grads) = (sum, grads);
    loop {
        let ((name, shape), other) = match (sum.next(), grads.next()) {
            (None, None) => return Ok(()),
            (Some((name, _)), None) | (None, Some((name, _))) => {
                return Err(MatchError::new(name, MICRO_BATCHES));
            }
            (Some(sum), Some(grad)) => (grad, sum),
        };
        let is_alike = shape.zip(other.1).is_none_or(|(a, b)| a == b);
        if name != other.0 || !is_alike {
            return Err(MatchError::new(name, MICRO_BATCHES));
        }
    }
}
