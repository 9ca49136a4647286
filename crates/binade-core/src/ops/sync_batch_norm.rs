//! Normalisation over a batch that is divided among several devices.

use crate::Handle;
use crate::ops::{BatchNormConfig, NormGrads, RunningStats};

/// Statistics of the whole batch that [`SyncBatchNorm`] normalised with; backward needs them.
#[derive(Clone, Debug)]
pub struct SyncedBatch<T> {
    /// Mean and biased variance of each channel, `[C]` in f32.
    pub stats: RunningStats<T>,
    /// Number of values of a channel.
    pub samples: u64,
}

/// Results of a normalisation over the whole batch.
#[derive(Clone, Debug)]
pub struct SyncBatchNormOutput<T> {
    /// Normalised input of this device, in its shape and element type.
    pub output: T,
    /// Running statistics, moved by the whole batch.
    pub running: RunningStats<T>,
    /// Statistics of the whole batch.
    pub batch: SyncedBatch<T>,
}

/// Batch normalisation by the statistics of the batches of all devices of a group, as of one batch (torch's `SyncBatchNorm`).
///
/// Devices meet in both methods. Each makes the same calls in the same order, as deep in its model as the others.
///
/// # For implementers
///
/// * The batch's statistics are those of all values of all devices, whose batches may have different sizes. They have the same bits
///   on every device, and so have the running statistics.
/// * Each device's loss is its own, and the gradient of a parameter is the average over the devices. So the input's gradient is that
///   of the sum of the losses, and the gradients of weight and bias are sums over the device's own values.
/// * Forward and backward are one meeting each: backward takes the statistics that forward returned.
pub trait SyncBatchNorm: Handle {
    /// Normalises by the statistics of all devices' batches, as in training.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes or element types do not agree, here or between devices; `InvalidArgument` for fewer than two values a
    /// channel on all devices together; `DeviceLost` if a device does not come.
    fn sync_batch_norm(
        &self,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        bias: &Self::Tensor,
        running: &RunningStats<Self::Tensor>,
        config: BatchNormConfig,
    ) -> Result<SyncBatchNormOutput<Self::Tensor>, Self::Error>;

    /// Returns the gradients of the operands of the call of [`sync_batch_norm`](Self::sync_batch_norm) that returned `batch`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes or element types do not agree, here or between devices; `DeviceLost` if a device does not come.
    fn sync_batch_norm_backward(
        &self,
        grad: &Self::Tensor,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        batch: &SyncedBatch<Self::Tensor>,
        eps: f32,
    ) -> Result<NormGrads<Self::Tensor>, Self::Error>;
}
