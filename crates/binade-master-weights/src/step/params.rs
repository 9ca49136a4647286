//! Parameters with their store's data: opened for a step, and saved after it.

use super::slices::{LengthError, cut, same};
use crate::stores::{
    kahan, remainder,
    stochastic::{self, Key, Words},
};
use binade_core::Element;

/// The parameters of one tensor, or of a piece of one, by the store that keeps their masters.
#[derive(Debug)]
pub enum Params<'a, C> {
    /// `f32` values that are their own masters.
    Own(&'a mut [f32]),
    /// Masters, and the parameters that are copies of them.
    Copy {
        /// Masters.
        master: &'a mut [f32],
        /// Parameters, each its master to nearest even.
        low: &'a mut [C],
    },
    /// Parameters without additional data.
    Bare(&'a mut [C]),
    /// Parameters with the lower halves of their masters ([`remainder`]).
    Remainder {
        /// Parameters: `bf16`.
        low: &'a mut [C],
        /// Low bits of the masters, which the parameters do not hold.
        remainder: &'a mut [u16],
    },
    /// Parameters that are rounded by chance ([`stochastic`]).
    Stochastic {
        /// Parameters.
        low: &'a mut [C],
        /// Names the random words of this step.
        key: Key,
        /// The index of the first element in its tensor.
        first: u64,
    },
    /// Parameters with compensations, as [`MasterStore::Kahan`](crate::MasterStore::Kahan) keeps them.
    Kahan {
        /// Parameters.
        low: &'a mut [C],
        /// Part that rounding cut off, as bits of the parameters' type.
        compensation: &'a mut [u16],
    },
}

impl<'a, C: Element> Params<'a, C> {
    /// Elements.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Own(values) | Self::Copy { master: values, .. } => values.len(),
            Self::Bare(low)
            | Self::Remainder { low, .. }
            | Self::Stochastic { low, .. }
            | Self::Kahan { low, .. } => low.len(),
        }
    }

    /// Returns true if there are none.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first `mid` elements, or all if there are fewer, and the rest.
    #[inline(always)]
    #[must_use]
    pub(crate) fn split_at(self, mid: usize) -> (Self, Self) {
        match self {
            Self::Own(values) => both(cut(values, mid), Self::Own),
            Self::Bare(low) => both(cut(low, mid), Self::Bare),
            Self::Copy { master, low } => {
                let masters = cut(master, mid);
                paired(masters, cut(low, mid), |master, low| Self::Copy { master, low })
            }
            Self::Remainder { low, remainder } => {
                let lows = cut(low, mid);
                let make = |low, remainder| Self::Remainder { low, remainder };
                paired(lows, cut(remainder, mid), make)
            }
            Self::Kahan { low, compensation } => {
                let lows = cut(low, mid);
                let make = |low, compensation| Self::Kahan { low, compensation };
                paired(lows, cut(compensation, mid), make)
            }
            Self::Stochastic { low, key, first } => {
                let (low, rest) = cut(low, mid);
                let next = first + low.len() as u64;
                let make = |low, first| Self::Stochastic { low, key, first };
                (make(low, first), make(rest, next))
            }
        }
    }

    /// Returns the `f32` values that a step starts from, and the value to call [`save`](Self::save) on after the step. Values that are stored in
    /// `f32` are lent; others are written to `scratch`, which must have the same length.
    #[inline(always)]
    pub(super) fn open<'b>(self, scratch: &'b mut [f32]) -> (&'b mut [f32], Self)
    where
        'a: 'b,
    {
        match self {
            Self::Own(values) => (values, Self::Own(&mut [])),
            Self::Copy { master, low } => (master, Self::Bare(low)),
            other => {
                other.load(scratch);
                (scratch, other)
            }
        }
    }

    #[inline(always)]
    fn load(&self, values: &mut [f32]) {
        match self {
            Self::Own(own) | Self::Copy { master: own, .. } => values.copy_from_slice(own),
            Self::Bare(low) | Self::Stochastic { low, .. } => C::widen(low, values),
            Self::Remainder { low, remainder } => {
                for ((value, low), rest) in values.iter_mut().zip(&**low).zip(&**remainder) {
                    *value = of_remainder(*low, *rest);
                }
            }
            Self::Kahan { low, compensation } => {
                for ((value, low), rest) in values.iter_mut().zip(&**low).zip(&**compensation) {
                    *value = of_compensation(*low, *rest);
                }
            }
        }
    }

    /// Stores the values after a step.
    #[inline(always)]
    pub(super) fn save(self, values: &[f32]) {
        match self {
            // Stepped in place.
            Self::Own(_) => {}
            Self::Copy { low, .. } | Self::Bare(low) => C::narrow(values, low),
            Self::Remainder { low, remainder } => {
                for ((value, low), rest) in values.iter().zip(low).zip(remainder) {
                    let (copy, cut_off) = remainder::split(*value);
                    (*low, *rest) = (of_upper_half(copy), cut_off);
                }
            }
            Self::Stochastic { low, key, first } => {
                let mut words = Words::from(key, first);
                for (value, low) in values.iter().zip(low) {
                    *low = stochastic::round(*value, words.draw());
                }
            }
            Self::Kahan { low, compensation } => {
                for ((value, low), rest) in values.iter().zip(low).zip(compensation) {
                    let (parameter, missing) = kahan::split::<C>(*value);
                    (*low, *rest) = (parameter, lower(missing.to_code()));
                }
            }
        }
    }

    /// Checks that every length equals that of the parameters.
    pub(super) fn check(&self) -> Result<(), LengthError> {
        let expected = self.len();
        match self {
            Self::Own(_) | Self::Bare(_) | Self::Stochastic { .. } => Ok(()),
            Self::Copy { low, .. } => same("low-precision parameters", low.len(), expected),
            Self::Remainder { remainder, .. } => same("remainders", remainder.len(), expected),
            Self::Kahan { compensation, .. } => same("compensations", compensation.len(), expected),
        }
    }
}

/// The master of a parameter and its remainder.
#[inline(always)]
pub(crate) fn of_remainder<C: Element>(low: C, remainder: u16) -> f32 {
    remainder::join(lower(low.to_f32().to_bits() >> 16), remainder)
}

/// The master of a parameter and the bits of its compensation.
#[inline(always)]
pub(crate) fn of_compensation<C: Element>(low: C, compensation: u16) -> f32 {
    kahan::join(low, C::from_code(compensation.into()))
}

/// The parameter with these bits of a `bf16`.
#[inline(always)]
fn of_upper_half<C: Element>(code: u16) -> C {
    C::from_f32(f32::from_bits(u32::from(code) << 16))
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
pub(crate) const fn lower(word: u32) -> u16 {
    word as u16
}

#[inline(always)]
fn both<T, U>((head, tail): (T, T), make: impl Fn(T) -> U) -> (U, U) {
    (make(head), make(tail))
}

#[inline(always)]
fn paired<T, U, V>((a, b): (T, T), (c, d): (U, U), make: impl Fn(T, U) -> V) -> (V, V) {
    (make(a, c), make(b, d))
}
