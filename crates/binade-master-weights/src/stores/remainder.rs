//! Master in two halves: the `bf16` parameter is the upper one, and a remainder holds the lower sixteen bits.
//!
//! With `bits` those of the master, in wrapping integers:
//!
//! ```text
//! copy      = (bits + 0x8000) >> 16
//! remainder = bits & 0xffff
//! master    = ((copy - (remainder >> 15)) << 16) | remainder
//! ```
//!
//! A remainder of `0x8000` or more means that the copy was rounded up, so nothing is lost. This holds because ties go away from zero: rounded to
//! nearest even, a tie's copy may have been rounded up or not, and no sixteen bits beside it can tell (Apex keeps remainders under a nearest-even
//! copy and gets such masters wrong: its issue 1842).
//!
//! * Every master that is a number or an infinity comes back bit for bit. The copy differs from the nearest even one on
//!   exact ties alone, by one unit in its last place.
//! * A master from `0x7f7f_8000` up, half a unit above the largest `bf16`, has an infinite copy, as it has when rounded to
//!   nearest even; the master itself stays finite and comes back.
//! * A NaN comes back as a quiet NaN with the upper half of its payload: carried into the exponent it could be a number.
//! * The halves belong together. A write to a parameter between steps changes only the master's upper half: start a new optimizer instead.

/// The parameter's bits and the remainder of a master.
#[inline(always)]
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "the halves are what is wanted")]
pub const fn split(master: f32) -> (u16, u16) {
    let bits = master.to_bits();
    let bits = if master.is_nan() { bits & 0xffff_0000 | 0x0040_0000 } else { bits };
    ((bits.wrapping_add(0x8000) >> 16) as u16, bits as u16)
}

/// The master of a parameter's bits and their remainder.
#[inline(always)]
#[must_use]
pub const fn join(copy: u16, remainder: u16) -> f32 {
    let upper = copy.wrapping_sub(remainder >> 15);
    f32::from_bits((upper as u32) << 16 | remainder as u32)
}
