//! Normalisation over the batch, by channel.

use crate::Handle;
use crate::ops::NormGrads;

/// Parameters of batch normalisation. The default is torch's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchNormConfig {
    /// Weight of the new batch in the running statistics.
    pub momentum: f32,
    /// Term added to the variance.
    pub eps: f32,
}

impl Default for BatchNormConfig {
    fn default() -> Self {
        Self { momentum: 0.1, eps: 1e-5 }
    }
}

/// Mean and variance by channel for inference; always f32.
#[derive(Clone, Debug)]
pub struct RunningStats<T> {
    /// Running mean, `[C]`.
    pub mean: T,
    /// Running unbiased variance, `[C]`.
    pub var: T,
}

/// Results of batch normalisation in training.
#[derive(Clone, Debug)]
pub struct BatchNormOutput<T> {
    /// Normalised input, in its shape and element type.
    pub output: T,
    /// Running statistics, moved by this batch.
    pub running: RunningStats<T>,
}

/// Batch normalisation: `(x − mean) / √(var + eps) · weight + bias` by channel (axis 1) of `[N, C, ..]` (Ioffe, Szegedy 2015,
/// arXiv 1502.03167; torch's `batch_norm`).
///
/// # For implementers
///
/// * Mean, variance and everything after them are f32 whatever the storage; the result is narrowed once, to nearest
///   even, to the input's element type.
/// * `weight` and `bias`, `[C]`, have one element type: the input's, or f32. An f16 input with f32 parameters is what
///   mixed precision feeds it.
/// * The running statistics are f32 `[C]`: `(1 − momentum)·old + momentum·new`, with the unbiased variance of the batch.
///   They are values: the ones passed in keep theirs.
/// * Backward computes the batch's statistics again from `input`; nothing is kept between the passes.
/// * The steps of both passes are methods too, for a batch of which each of several devices has a part. Each computes as its
///   pass does, in f32 or wider.
pub trait BatchNorm: Handle {
    /// Normalises by the batch's own statistics, as in training.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes or element types do not agree; `InvalidArgument` for fewer than two values a channel.
    fn batch_norm(
        &self,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        bias: &Self::Tensor,
        running: &RunningStats<Self::Tensor>,
        config: BatchNormConfig,
    ) -> Result<BatchNormOutput<Self::Tensor>, Self::Error>;

    /// Normalises by the running statistics. This form has no backward.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes or element types do not agree.
    fn batch_norm_inference(
        &self,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        bias: &Self::Tensor,
        running: &RunningStats<Self::Tensor>,
        eps: f32,
    ) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradients of the operands of [`batch_norm`](Self::batch_norm); the bias' has the element type of `weight`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` has not the shape and element type of the result.
    fn batch_norm_backward(
        &self,
        grad: &Self::Tensor,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        eps: f32,
    ) -> Result<NormGrads<Self::Tensor>, Self::Error>;

    /// Returns mean and unbiased variance of each channel of the batch. [`batch_norm`](Self::batch_norm) moves the running statistics towards them.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for fewer than two values a channel.
    fn batch_norm_stats(
        &self,
        input: &Self::Tensor,
    ) -> Result<RunningStats<Self::Tensor>, Self::Error>;

    /// Returns the sums `Σ g·x̂` and `Σ g` of each channel, `[2, C]` in f32: the gradients of weight and bias. Normal values `x̂` are
    /// `(x − mean) / √(var + eps)` by `stats`, whatever batch these are of. A channel without values has the sums 0.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes or element types do not agree.
    fn batch_norm_grad_sums(
        &self,
        grad: &Self::Tensor,
        input: &Self::Tensor,
        stats: &RunningStats<Self::Tensor>,
        eps: f32,
    ) -> Result<Self::Tensor, Self::Error>;

    /// Returns the input's gradient `weight / √(var + eps) · (g − means[1] − x̂·means[0])`. `means`, `[2, C]` in f32, are the sums of
    /// [`batch_norm_grad_sums`](Self::batch_norm_grad_sums) over all values that `stats` are of, divided by their number.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes or element types do not agree.
    fn batch_norm_input_grad(
        &self,
        grad: &Self::Tensor,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        stats: &RunningStats<Self::Tensor>,
        means: &Self::Tensor,
        eps: f32,
    ) -> Result<Self::Tensor, Self::Error>;
}
