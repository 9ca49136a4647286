//! Rotary position embedding.

use crate::Handle;

/// Rotary position embedding: rotates pairs of elements by angles of their position (Su et al. 2021, arXiv 2104.09864).
///
/// The input is `[.., L, E]` with an even E. Element `i` below `E / 2` and element `i + E / 2` are a pair, as in Llama. Tables
/// of cosines and sines are f32 `[L, E / 2]`; what their angles are is the caller's choice, often `position · base^(−2i / E)`.
///
/// # For implementers
///
/// * A pair `(x, y)` gives `(x·cos − y·sin, y·cos + x·sin)` in f32 whatever the storage, narrowed once, to nearest even.
/// * Backward rotates by the negative angles: `(x·cos + y·sin, y·cos − x·sin)` of the gradient. The tables have no gradient.
pub trait RotaryEmbedding: Handle {
    /// Returns `input` rotated, in its shape.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes or element types do not agree.
    fn rotary_embedding(
        &self,
        input: &Self::Tensor,
        cos: &Self::Tensor,
        sin: &Self::Tensor,
    ) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradient of the input.
    ///
    /// # Errors
    ///
    /// The errors of [`rotary_embedding`](Self::rotary_embedding).
    fn rotary_embedding_backward(
        &self,
        grad: &Self::Tensor,
        cos: &Self::Tensor,
        sin: &Self::Tensor,
    ) -> Result<Self::Tensor, Self::Error>;
}
