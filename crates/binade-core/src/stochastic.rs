//! Stochastic rounding: a value is rounded up with the probability of its cut-off part, by random bits that depend only on a key and an index.
//!
//! The expected result is the value, so many updates that are each too small to change a 16-bit weight still add up.
//!
//! # The bits
//!
//! [`bits`] depends only on (seed, parameter, step, index). It has no state, so it is the same on every backend and for any division of work. One
//! call of Philox4x32-10 gives the words of four neighbours:
//!
//! | word | key | counter |
//! |---|---|---|
//! | 0 | seed, low half | block = index / 4, low half |
//! | 1 | seed, high half | block, high half |
//! | 2 | | step |
//! | 3 | | parameter |
//!
//! and element `index` takes word `index % 4` of the result. Distinct names never share a word's counter, and 32-bit
//! integers are all a kernel or shader needs.
//!
//! # The rounding
//!
//! With the magnitude's code written as a fixed-point number (below the format's smallest normal, too), the *upper* bits of
//! the random word are added to the fraction and the sum is cut off:
//!
//! * A value that the format holds is unchanged. Any other goes to one of its two neighbours.
//! * The mean over all words is the value, exactly, while the fraction has at most 31 bits: always in `bf16`, from 2^-32 in
//!   `f16`, 2^-17 in E4M3 and 2^-24 in E5M2. Below, the chance of the smallest subnormal is rounded down to a multiple of
//!   2^-31.
//! * For one word, a larger value never rounds to a smaller one.
//! * NaN stays NaN, and keeps its sign. Infinity stays infinity unless it saturates.
//! * Overflow is decided after rounding, as IEEE 754 does: from the largest value to where the next would be (65536 for
//!   `f16`) a value goes down or overflows, by the same chances; from there on it overflows.

mod philox;

use philox::philox4x32;

use crate::{
    DType,
    cast::{OnOverflow, codec::Codec},
};

/// Key of a stream of random words.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Key {
    /// Seed of the run.
    pub seed: u64,
    /// Number of the rounded buffer: every buffer of a parameter (weights, each moment) needs its own.
    pub parameter: u32,
    /// Number of the optimizer step.
    pub step: u32,
}

impl Key {
    /// Returns the words of elements `4 * block` to `4 * block + 3`.
    #[inline]
    pub const fn block(self, block: u64) -> [u32; 4] {
        let [counter_low, counter_high] = halves(block);
        philox4x32([counter_low, counter_high, self.step, self.parameter], halves(self.seed))
    }
}

/// Returns the word of one element; a loop over neighbours asks [`Key::block`] once for four.
#[inline]
pub const fn bits(key: Key, index: u64) -> u32 {
    key.block(index / 4)[(index % 4) as usize]
}

/// Returns `⌊p·2³²⌋` for a `p` of 0..=1. A word is below it with probability `p`, rounded down to a multiple of 2^-32: never for
/// 0, always for 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "p is in 0..=1, so that the product is in 0..=2^32 and its fraction is to go"
)]
pub fn threshold(p: f32) -> u64 {
    (f64::from(p) * 4294967296.0) as u64
}

/// Returns the code of `value` rounded to `to`, in the lower end of a word; `None` if autocast does not cast the type.
#[inline(always)]
pub const fn code(value: f32, to: DType, bits: u32, on_overflow: OnOverflow) -> Option<u32> {
    match (codec(to), to) {
        (Some(codec), _) => Some(codec.stochastic(value, bits, on_overflow)),
        (None, DType::F32) => Some(value.to_bits()),
        _ => None,
    }
}

/// Returns `value` rounded to `to` and read back, as [`cast::round`](crate::cast::round) does to nearest.
pub fn round(value: f32, to: DType, bits: u32, on_overflow: OnOverflow) -> Option<f32> {
    match codec(to) {
        Some(codec) => Some(codec.decode(codec.stochastic(value, bits, on_overflow))),
        None if to == DType::F32 => Some(value),
        None => None,
    }
}

#[inline(always)]
const fn codec(of: DType) -> Option<Codec> {
    match of {
        DType::BF16 => Some(Codec::BF16),
        DType::F16 => Some(Codec::F16),
        DType::E4M3 => Some(Codec::E4M3),
        DType::E5M2 => Some(Codec::E5M2),
        _ => None,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the halves are what is wanted")]
#[inline(always)]
const fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}
