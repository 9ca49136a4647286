//! Comparison of sets that must list the same parameters.

use crate::{Error, ErrorKind};
use std::sync::Arc;

/// Error of two sets that disagree about a parameter.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{parameter}`: {why}")]
pub struct MatchError {
    /// Name of the parameter.
    pub parameter: Arc<str>,
    /// Point of disagreement, and a remedy.
    pub why: &'static str,
}

impl Error for MatchError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Mismatch
    }
}

const MICRO_BATCHES: &str = "micro-batches of one window must list the same parameters, of the same shapes, in the same order";

/// Checks that both sets list the same parameters in the same order, with equal shapes if both have a gradient.
///
/// # Errors
///
/// The first parameter that they disagree about.
pub fn check_same_parameters<'a, 'b>(
    sum: impl Iterator<Item = (&'a Arc<str>, Option<&'a [usize]>)>,
    grads: impl Iterator<Item = (&'b Arc<str>, Option<&'b [usize]>)>,
) -> Result<(), MatchError> {
    let (mut sum, mut grads) = (sum, grads);
    loop {
        let ((name, shape), other) = match (sum.next(), grads.next()) {
            (None, None) => return Ok(()),
            (Some((name, _)), None) | (None, Some((name, _))) => {
                return Err(MatchError { parameter: name.clone(), why: MICRO_BATCHES });
            }
            (Some(sum), Some(grad)) => (grad, sum),
        };
        let is_alike = shape.zip(other.1).is_none_or(|(a, b)| a == b);
        if name != other.0 || !is_alike {
            return Err(MatchError { parameter: name.clone(), why: MICRO_BATCHES });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn micro_batches_list_the_same_parameters_of_the_same_shapes_in_the_same_order() {
        let [a, b, c] = ["a", "b", "c"].map(Arc::<str>::from);
        let (row, column): (&[usize], &[usize]) = (&[1, 2], &[2, 1]);
        let sum = [(&a, Some(row)), (&b, None)];
        let refused = |grads: &[(&Arc<str>, Option<&[usize]>)]| {
            let error = check_same_parameters(sum.into_iter(), grads.iter().copied()).err()?;
            assert_eq!(error.kind(), ErrorKind::Mismatch);
            assert_eq!(error.to_string(), format!("`{}`: {MICRO_BATCHES}", error.parameter));
            Some(error.parameter)
        };
        assert_eq!(refused(&sum), None);
        // A missing gradient has no shape.
        assert_eq!(refused(&[(&a, None), (&b, Some(column))]), None);
        assert_eq!(refused(&[(&a, Some(column)), (&b, None)]), Some(a.clone()));
        assert_eq!(refused(&[(&b, Some(row)), (&a, None)]), Some(b.clone()));
        assert_eq!(refused(&[(&a, Some(row))]), Some(b.clone()), "one less");
        assert_eq!(refused(&[sum[0], sum[1], (&c, None)]), Some(c.clone()), "one more");
    }
}
