//! The slices that a step works on, and what has to be true of their lengths.

use binade_core::{Error, ErrorKind};

/// One parameter tensor, or a piece of one, with all that belongs to it.
#[derive(Debug)]
pub struct Slices<'a, G, C> {
    /// Gradients, still scaled if the factor says so.
    pub grads: &'a [G],
    /// Parameters, or their masters.
    pub params: &'a mut [f32],
    /// The state: momentum for SGD; mean, mean of squares and their largest for Adam. Those that the rule does not keep
    /// are empty.
    pub moments: [&'a mut [f32]; 3],
    /// The low-precision parameters that the masters are of, if there are any.
    pub copy: Option<&'a mut [C]>,
}

impl<'a, G, C> Slices<'a, G, C> {
    /// Parameters with gradients, so far without state and without copy.
    pub fn new(grads: &'a [G], params: &'a mut [f32]) -> Self {
        Self { grads, params, moments: Default::default(), copy: None }
    }

    /// Whether there is nothing to do.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.params.is_empty()
    }

    /// The first `mid` elements, or all if there are fewer, and the rest.
    #[inline(always)]
    #[must_use]
    pub fn split_at(self, mid: usize) -> (Self, Self) {
        let (grads, later_grads) = self.grads.split_at(mid.min(self.grads.len()));
        let (params, later_params) = cut(self.params, mid);
        let [(first, later_first), (second, later_second), (third, later_third)] =
            self.moments.map(|moment| cut(moment, mid));
        let (copy, later_copy) = self.copy.map(|copy| cut(copy, mid)).unzip();
        let head = Self { grads, params, moments: [first, second, third], copy };
        let tail = Self {
            grads: later_grads,
            params: later_params,
            moments: [later_first, later_second, later_third],
            copy: later_copy,
        };
        (head, tail)
    }

    /// Holds every length to that of the parameters.
    pub(super) fn check(&self, moments: usize) -> Result<(), LengthError> {
        let expected = self.params.len();
        same("gradients", self.grads.len(), expected)?;
        for (i, (what, moment)) in MOMENTS.into_iter().zip(&self.moments).enumerate() {
            same(what, moment.len(), if i < moments { expected } else { 0 })?;
        }
        self.copy
            .as_ref()
            .map_or(Ok(()), |copy| same("low-precision parameters", copy.len(), expected))
    }
}

const MOMENTS: [&str; 3] = ["first moments", "second moments", "largest second moments"];

#[inline(always)]
fn cut<T>(slice: &mut [T], mid: usize) -> (&mut [T], &mut [T]) {
    slice.split_at_mut(mid.min(slice.len()))
}

fn same(what: &'static str, got: usize, expected: usize) -> Result<(), LengthError> {
    if got == expected { Ok(()) } else { Err(LengthError { what, got, expected }) }
}

/// A slice that does not go with the parameters.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "{got} {what} were given and {expected} are needed: one for each parameter where the rule keeps them, else none"
)]
pub struct LengthError {
    /// Which slice.
    pub what: &'static str,
    /// Its length.
    pub got: usize,
    /// The length that fits.
    pub expected: usize,
}

impl Error for LengthError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Mismatch
    }
}
