//! Types of the two 8-bit formats.

use super::{OnOverflow, codec::Codec};
use std::{cmp::Ordering, fmt};

macro_rules! float8 {
    ($(#[$doc:meta])* $name:ident, max $max:literal, nan $nan:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// Largest finite value.
            pub const MAX: Self = Self($max);
            /// Quiet NaN that casts give, without sign.
            pub const NAN: Self = Self($nan);

            /// Creates a value of this pattern.
            #[inline(always)]
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// Returns the pattern.
            #[inline(always)]
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// Rounds once, to nearest even; NaN stays NaN and keeps its sign.
            #[inline(always)]
            pub const fn from_f32(value: f32, on_overflow: OnOverflow) -> Self {
                Self::from_code(Codec::$name.nearest(value, on_overflow))
            }

            /// Widens, exactly.
            #[inline(always)]
            pub const fn to_f32(self) -> f32 {
                Codec::$name.decode(self.0 as u32)
            }

            #[expect(clippy::cast_possible_truncation, reason = "an 8-bit format's codes are below 256")]
            #[inline(always)]
            pub(crate) const fn from_code(code: u32) -> Self {
                Self(code as u8)
            }
        }

        impl From<$name> for f32 {
            fn from(value: $name) -> Self {
                value.to_f32()
            }
        }

        /// Compares as numbers: NaN differs from itself, and the zeros are equal.
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }
    };
}

float8! {
    /// Value of E4M3 of the OCP 8-bit Floating Point Specification 1.0 (torch's `float8_e4m3fn`): largest 448, NaN, no infinity.
    E4M3, max 0x7e, nan 0x7f
}

float8! {
    /// Value of E5M2 of the OCP 8-bit Floating Point Specification 1.0: the exponents of `f16`, largest 57344, infinities, NaN.
    E5M2, max 0x7b, nan 0x7e
}

impl E5M2 {
    /// Positive infinity.
    pub const INFINITY: Self = Self(0x7c);
}
