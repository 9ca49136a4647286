//! Scaled dot-product attention.

use crate::Handle;

/// Parameters of attention. The default attends to all keys, with torch's scale.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AttentionConfig {
    /// True if query `i` attends only to keys `0..=i`, counted from the first key even if L ≠ S, as under torch's `is_causal`.
    pub causal: bool,
    /// Factor of each product of a query and a key; `None` for `1 / √E`.
    pub scale: Option<f32>,
}

impl AttentionConfig {
    /// Returns the scale for queries of `width` elements.
    ///
    /// ```
    /// use binade_core::ops::AttentionConfig;
    ///
    /// assert_eq!(AttentionConfig::default().scale_for(64), 0.125);
    /// ```
    #[expect(clippy::cast_precision_loss, reason = "an extent of an axis is far below 2^24")]
    pub fn scale_for(&self, width: usize) -> f32 {
        self.scale.unwrap_or_else(|| (width.max(1) as f32).sqrt().recip())
    }
}

/// Results of attention.
#[derive(Clone, Debug)]
pub struct AttentionOutput<T> {
    /// Weighted sums of values, `[.., L, V]`, in the operands' element type.
    pub output: T,
    /// Statistics of each query, f32 `[.., L, 2]`: its largest score, and the logarithm of the sum of `exp(score − largest)`. Both
    /// are −∞ for a query without any key, and NaN if a score is. Backward computes the weights from them.
    pub statistics: T,
}

/// Gradients of attention, each like its operand.
#[derive(Clone, Debug)]
pub struct AttentionGrads<T> {
    /// Gradient of the query.
    pub query: T,
    /// Gradient of the key.
    pub key: T,
    /// Gradient of the value.
    pub value: T,
}

/// Attention: `softmax(scale · Q·Kᵀ + mask) · V` (Vaswani et al. 2017, arXiv 1706.03762; torch's `scaled_dot_product_attention`).
///
/// | operand | shape | element type |
/// |---|---|---|
/// | query | `[.., L, E]` | bf16, f16 or f32 |
/// | key | `[.., S, E]` | the same |
/// | value | `[.., S, V]` | the same |
/// | mask, may be left out | `[.., L, S]`, see below | the same, or f32 |
///
/// The leading extents of query, key and value are equal; there may be none. The mask is added to the scores: −∞ leaves a key out,
/// and 0 keeps it. The mask has two axes, or as many as the query. Each of its extents but the last may be 1, and is then for all.
/// Of the leading extents those above 1 stand side by side: `[B, 1, 1, S]` masks keys by sample, `[1, H, L, S]` has terms for each
/// head, and `[2, 1, 3, L, S]` is refused for queries `[2, 4, 3, L, E]`.
///
/// # For implementers
///
/// * Scores, exponentials and sums are f32 whatever the storage. Weights, and gradients of scores, may be rounded once to the operands'
///   element type before they are multiplied; results are narrowed once, to nearest even.
/// * Memory besides the operands grows with L + S, never with L · S: the algorithm goes over tiles of keys (Dao 2023, arXiv
///   2307.08691).
/// * A query without any key has output 0, and adds 0 to every gradient.
/// * A key that is left out has weight 0. Operands must be finite there too, since 0 · ∞ is NaN.
/// * Backward computes the weights again from `statistics`, and gives the same bits each time. The mask has no gradient.
pub trait ScaledDotProductAttention: Handle {
    /// Returns the weighted sums of values, and the statistics for backward.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes or element types do not agree.
    fn scaled_dot_product_attention(
        &self,
        query: &Self::Tensor,
        key: &Self::Tensor,
        value: &Self::Tensor,
        mask: Option<&Self::Tensor>,
        config: AttentionConfig,
    ) -> Result<AttentionOutput<Self::Tensor>, Self::Error>;

    /// Returns the gradients of query, key and value from the gradient of the output, the operands and both results.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad`, `output` or `statistics` have not the shape and element type of their result.
    #[expect(clippy::too_many_arguments, reason = "operands and results of the forward method")]
    fn scaled_dot_product_attention_backward(
        &self,
        grad: &Self::Tensor,
        query: &Self::Tensor,
        key: &Self::Tensor,
        value: &Self::Tensor,
        output: &Self::Tensor,
        statistics: &Self::Tensor,
        mask: Option<&Self::Tensor>,
        config: AttentionConfig,
    ) -> Result<AttentionGrads<Self::Tensor>, Self::Error>;
}
