//! Slices that a step works on, and the check of their lengths.

use super::Params;
use binade_core::{Element, Error, ErrorKind};
use std::fmt;

/// One parameter tensor, or a piece of one, with its gradients and state.
#[derive(Debug)]
pub struct Slices<'a, G, C> {
    /// Gradients, scaled if the factor unscales them.
    pub grads: &'a [G],
    /// Parameters, and their masters if there are any.
    pub params: Params<'a, C>,
    /// Moments in the rule's order; those that the rule does not have are empty.
    pub moments: [&'a mut [f32]; 3],
}

impl<G, C: Element> Slices<'_, G, C> {
    /// Elements.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.params.len()
    }

    /// Returns true if there is nothing to do.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.params.is_empty()
    }

    /// The first `mid` elements, or all if there are fewer, and the rest.
    #[inline(always)]
    #[must_use]
    pub fn split_at(self, mid: usize) -> (Self, Self) {
        let (grads, later_grads) = self.grads.split_at(mid.min(self.grads.len()));
        let (params, later_params) = self.params.split_at(mid);
        let [(first, later_first), (second, later_second), (third, later_third)] =
            self.moments.map(|moment| cut(moment, mid));
        let head = Self { grads, params, moments: [first, second, third] };
        let moments = [later_first, later_second, later_third];
        (head, Self { grads: later_grads, params: later_params, moments })
    }

    /// Checks that every length equals that of the parameters.
    pub(super) fn check(&self, moments: usize) -> Result<(), LengthError> {
        let expected = self.params.len();
        same("gradients", self.grads.len(), expected)?;
        for (i, (what, moment)) in MOMENTS.into_iter().zip(&self.moments).enumerate() {
            same(what, moment.len(), if i < moments { expected } else { 0 })?;
        }
        self.params.check()
    }
}

/// Operand that a step needs and no slice has.
pub(super) const NORMS: &str = "norms of the tensor";

const MOMENTS: [&str; 3] = ["first moments", "second moments", "largest second moments"];

#[inline(always)]
pub(super) fn cut<T>(slice: &mut [T], mid: usize) -> (&mut [T], &mut [T]) {
    slice.split_at_mut(mid.min(slice.len()))
}

pub(super) fn same(what: &'static str, got: usize, expected: usize) -> Result<(), LengthError> {
    if got == expected { Ok(()) } else { Err(LengthError { what, got, expected }) }
}

/// A slice that does not go with the parameters, or norms that the step needs and that were not measured.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub struct LengthError {
    /// Name of the slice.
    pub what: &'static str,
    /// Its length.
    pub got: usize,
    /// The length that fits.
    pub expected: usize,
}

impl fmt::Display for LengthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, got, expected } = self;
        if *what == NORMS {
            return f.write_str(
                "the step needs norms of the whole tensor, which were not measured: call `measure`, and step by the constants that \
                 `StepConstants::measured` returns",
            );
        }
        write!(
            f,
            "{got} {what} were given and {expected} are needed: one for each parameter where the rule keeps them, else none"
        )
    }
}

impl Error for LengthError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Mismatch
    }
}
