//! Kernels on channels, and on the columns of a matrix.

use crate::{Driver, Result, Tensor};
use binade_core::DType;
use binade_core::ops::shape;

/// Shape of a tensor as `[outer, channels, inner]`.
#[derive(Clone, Copy, Debug)]
pub struct Channels {
    /// Extent of the axes before the channels.
    pub outer: usize,
    /// Number of channels.
    pub count: usize,
    /// Extent of the axes after the channels.
    pub inner: usize,
}

impl Channels {
    /// Describes a tensor that has a channel axis: axis 1 of images, the last axis of anything else.
    pub(super) fn of(shape: &[usize]) -> Self {
        Self::along(shape, shape::channels(shape).unwrap_or_default())
    }

    /// Describes `shape` with `axis` as the channels.
    pub fn along(shape: &[usize], axis: usize) -> Self {
        Self {
            outer: shape[..axis].iter().product(),
            count: shape[axis],
            inner: shape[axis + 1..].iter().product(),
        }
    }

    /// Returns the number of elements of each channel.
    pub fn samples(self) -> usize {
        self.outer * self.inner
    }
}

/// Driver with kernels on channels.
pub trait ChannelKernels: Driver {
    /// Computes the last tensor: adds to each channel of the first its element of the second.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_bias_add(&self, tensors: [&Tensor<Self>; 3], of: Channels) -> Result<(), Self>;

    /// Sums each channel's elements into `result`, a vector, rounded once; 0 of no elements.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_channel_sums(
        &self,
        values: &Tensor<Self>,
        of: Channels,
        result: &Tensor<Self>,
    ) -> Result<(), Self>;

    /// Sums each column of a matrix with this many rows, as [`launch_channel_sums`](Self::launch_channel_sums) does.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_column_sums(
        &self,
        values: &Tensor<Self>,
        rows: usize,
        result: &Tensor<Self>,
    ) -> Result<(), Self> {
        let of = Channels { outer: rows, count: result.len(), inner: 1 };
        self.launch_channel_sums(values, of, result)
    }
}

/// Returns the sum over each channel's elements as a vector of `dtype`.
pub(super) fn channel_sums<D: ChannelKernels>(
    device: &D,
    values: &Tensor<D>,
    of: Channels,
    dtype: DType,
) -> Result<Tensor<D>, D> {
    let result = device.unset(dtype, &[of.count])?;
    device.launch_channel_sums(values, of, &result)?;
    Ok(result)
}

/// Returns the sum of each column of a matrix as a vector of its element type.
pub(super) fn column_sums<D: ChannelKernels>(
    device: &D,
    values: &Tensor<D>,
    [rows, columns]: [usize; 2],
) -> Result<Tensor<D>, D> {
    let result = device.unset(values.dtype(), &[columns])?;
    device.launch_column_sums(values, rows, &result)?;
    Ok(result)
}
