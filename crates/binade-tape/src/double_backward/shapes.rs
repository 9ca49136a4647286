//! Building blocks of formulas: constants, sums by channel, and their transposes.

use crate::{
    Device, Var,
    backward::beside,
    ops::{
        Outcome,
        linear_map::{Map, map},
    },
};
use binade_core::ops::Ops;
use binade_core::{DType, Op};

impl<D: Device + Ops> Var<D> {
    /// Returns a constant of one value, in the shape and element type of `self`.
    pub(super) fn filled(&self, value: f32) -> Outcome<D> {
        let near = beside(self.tape().device(), self.tensor());
        Ok(self.tape().constant(near.fill(value, &self.shape(), self.dtype())?))
    }

    /// Computes `self + value`.
    pub(super) fn plus(&self, value: f32) -> Outcome<D> {
        self.add(&self.filled(value)?)
    }

    /// Returns a tensor whose elements are all this scalar.
    pub(super) fn spread(&self, shape: Vec<usize>, dtype: DType) -> Outcome<D> {
        let spread = move |device: &D, x: &D::Tensor| device.sum_backward(x, &shape, dtype);
        self.linear_map(Op::SUM, [map(spread), map(|device: &D, x: &D::Tensor| device.sum(x))])
    }

    /// Returns the sums of each channel: of axis 1 of `[N, C, H, W]`, of the last axis of anything else.
    pub(super) fn channel_sums(&self) -> Outcome<D> {
        let [sums, spread] = channels(self.shape(), self.dtype());
        self.linear_map(Op::BIAS_ADD, [sums, spread])
    }

    /// Returns this vector of channels, a value for each, in the shape of `like`.
    pub(super) fn spread_channels(&self, like: &Self) -> Outcome<D> {
        let [sums, spread] = channels(like.shape(), like.dtype());
        self.linear_map(Op::BIAS_ADD, [spread, sums])
    }

    /// Returns the mean of each channel, as a vector.
    pub(super) fn channel_means(&self) -> Outcome<D> {
        let sums = self.channel_sums()?;
        let count = self.value().elements() / sums.value().elements().max(1);
        sums.scaled_by(share(1.0, count))
    }
}

/// Returns `of` divided by a number of elements.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a factor of f32 elements, rounded once"
)]
pub(super) fn share(of: f64, count: u64) -> f32 {
    (of / count as f64) as f32
}

/// Returns the sums of a tensor by channel, and the map from a vector of channels to that tensor's shape.
fn channels<D: Device + Ops>(shape: Vec<usize>, dtype: DType) -> [Map<D>; 2] {
    let sums = map(|device: &D, x: &D::Tensor| {
        let [_, sums] = device.bias_add_backward(x)?;
        Ok(sums)
    });
    let spread = map(move |device: &D, x: &D::Tensor| {
        let zeros = beside(device, x).fill(0.0, &shape, dtype)?;
        device.bias_add(&zeros, x)
    });
    [sums, spread]
}
