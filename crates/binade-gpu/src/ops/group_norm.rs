//! Normalisation over groups of channels.

use super::{
    PointwiseKernels, check,
    layer_norm::{NormBackward, norm_grads},
};
use crate::{Driver, Gpu, Result, Tensor};
use binade_core::TensorSpec;
use binade_core::ops::{NormGrads, OpInvocation};

/// Dimensions of a tensor `[N, C, ..]`, seen as one run for each channel of each sample, or one row for each group.
#[derive(Clone, Copy, Debug)]
pub struct ChannelGroups {
    /// Number of samples.
    pub samples: usize,
    /// Number of channels.
    pub channels: usize,
    /// Number of groups.
    pub groups: usize,
    /// Elements of a channel of one sample.
    pub inner: usize,
}

impl ChannelGroups {
    fn new(shape: &[usize], groups: usize) -> Self {
        let inner = shape[2..].iter().product();
        Self { samples: shape[0], channels: shape[1], groups, inner }
    }

    /// Returns `tensor` as `[1, N·groups, width]`: a channel for each group of each sample.
    ///
    /// # Errors
    ///
    /// None for a tensor of these extents.
    pub fn rows<D: Driver>(&self, tensor: &Tensor<D>) -> Result<Tensor<D>, D> {
        let width = self.channels / self.groups * self.inner;
        tensor.reshape(&[1, self.samples * self.groups, width])
    }

    /// Returns `tensor` as `[1, N·C, inner]`: a channel for each channel of each sample.
    ///
    /// # Errors
    ///
    /// None for a tensor of these extents.
    pub fn runs<D: Driver>(&self, tensor: &Tensor<D>) -> Result<Tensor<D>, D> {
        tensor.reshape(&[1, self.samples * self.channels, self.inner])
    }
}

/// Driver with kernels of normalisation over groups of channels.
pub trait GroupNormKernels: Driver {
    /// Normalises `input`, which is not empty, by weight and bias.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_group_norm(
        &self,
        operands: [&Tensor<Self>; 3],
        of: ChannelGroups,
        eps: f32,
        result: &Tensor<Self>,
    ) -> Result<(), Self>;

    /// Computes the gradients of input, weight and bias. The input is not empty.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_group_norm_backward(
        &self,
        call: &NormBackward<'_, Self>,
        of: ChannelGroups,
    ) -> Result<(), Self>;
}

impl<D: GroupNormKernels + PointwiseKernels> binade_core::ops::GroupNorm for Gpu<'_, D> {
    fn group_norm(
        &self,
        input: &Tensor<D>,
        weight: &Tensor<D>,
        bias: &Tensor<D>,
        groups: usize,
        eps: f32,
    ) -> Result<Tensor<D>, D> {
        let call = OpInvocation::GroupNorm { groups, eps };
        let TensorSpec { dtype, shape } = check(self.0, &call, &[input, weight, bias])?;
        let result = self.0.unset(dtype, &shape)?;
        if !result.is_empty() {
            let of = ChannelGroups::new(&shape, groups);
            self.0.launch_group_norm([input, weight, bias], of, eps, &result)?;
        }
        Ok(result)
    }

    fn group_norm_backward(
        &self,
        grad: &Tensor<D>,
        input: &Tensor<D>,
        weight: &Tensor<D>,
        groups: usize,
        eps: f32,
    ) -> Result<NormGrads<Tensor<D>>, D> {
        let call = OpInvocation::GroupNormBackward { groups, eps };
        check(self.0, &call, &[grad, input, weight])?;
        let grads = norm_grads(self.0, input, weight)?;
        if input.is_empty() {
            self.0.launch_fill(0.0, &grads.weight)?;
            self.0.launch_fill(0.0, &grads.bias)?;
            return Ok(grads);
        }
        let call = NormBackward { grad, input, weight, eps, grads: &grads };
        self.0.launch_group_norm_backward(&call, ChannelGroups::new(input.shape(), groups))?;
        Ok(grads)
    }
}
