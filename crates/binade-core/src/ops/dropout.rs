//! Dropout: zeroes elements at random and scales the rest.

use crate::Handle;

/// Dropout: zeroes each element with probability `p` and multiplies the rest by `1 / (1 − p)`.
///
/// The mask is a pure function of a key and of each element's index, so backward recomputes it instead of keeping it. The key is an i64 tensor `[2]`,
/// seed and counter, each the bits of a `u64`. It is a device value, so that a recorded step can be replayed with the next counter. The caller takes
/// another counter for each call.
///
/// # For implementers
///
/// * Element `i` stays where `bits(key, i) ≥ ⌊p·2³²⌋`, with [`bits`](crate::stochastic::bits) and its key of
///   `step` = the counter's lower half, `parameter` = the complement of its upper half (so that parameters, which are
///   numbered from 0, are rounded with other words). The mask is the same on every device.
/// * Dropped elements are +0, even where they were NaN or infinite; kept ones are multiplied in f32 and narrowed once.
/// * `p = 0` is the identity, `p = 1` drops everything.
pub trait Dropout: Handle {
    /// Returns `input` with elements dropped.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a `p` outside 0..=1; `Mismatch` if `key` is not i64 `[2]`.
    fn dropout(
        &self,
        input: &Self::Tensor,
        key: &Self::Tensor,
        p: f32,
    ) -> Result<Self::Tensor, Self::Error>;

    /// Returns `grad` with the same elements dropped and the rest scaled alike.
    ///
    /// # Errors
    ///
    /// The errors of [`dropout`](Self::dropout).
    fn dropout_backward(
        &self,
        grad: &Self::Tensor,
        key: &Self::Tensor,
        p: f32,
    ) -> Result<Self::Tensor, Self::Error>;
}
