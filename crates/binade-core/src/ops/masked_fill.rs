//! Replacement of masked elements by one value.

use crate::Handle;

/// Replacement of masked elements by one value, as torch's `masked_fill`.
///
/// The mask is bf16, f16 or f32, whatever the input's type. An element other than 0 fills, NaN included. The mask has the input's
/// shape, or that of its last axes and serves all before them: `[L, L]` for scores `[B, H, L, L]`.
///
/// # For implementers
///
/// * The value is rounded once to the input's element type. Other elements keep their bits.
/// * A finite value that would become infinite is refused, such as `-1e9` in f16: a row of nothing but infinities has no softmax.
///   An infinity that the caller names is taken.
/// * There is no backward method: the gradient is `grad` with 0 in the place of masked elements. The mask has none.
pub trait MaskedFill: Handle {
    /// Returns `input` with `value` where `mask` is not 0.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes or element types do not agree; `InvalidArgument` for a value beyond the range of the input's type.
    fn masked_fill(
        &self,
        input: &Self::Tensor,
        mask: &Self::Tensor,
        value: f32,
    ) -> Result<Self::Tensor, Self::Error>;
}
