//! Normalisation over groups of channels: the numbers and sums of batch normalisation, of rows and of runs.

use super::{batch_norm::Layer, operands::by_group, roles::Role};
use crate::{
    Result, Tensor, Wgpu,
    dispatch::{
        groups,
        structs::{self, count},
    },
};
use binade_core::DType;
use binade_gpu::{ChannelGroups, ChannelKernels, Channels, Driver, GroupNormKernels, NormBackward};

impl GroupNormKernels for Wgpu {
    fn launch_group_norm(
        &self,
        operands: [&Tensor; 3],
        of: ChannelGroups,
        eps: f32,
        result: &Tensor,
    ) -> Result {
        let [input, weight, bias] = operands;
        let numbers = Layer::new(self, &of.rows(input)?, weight, eps)?.numbers()?;
        let runs = of.runs(input)?;
        layer_of_runs(self, &runs, weight, of, eps)?.normalise(weight, bias, &numbers, result)
    }

    fn launch_group_norm_backward(
        &self,
        call: &NormBackward<'_, Self>,
        of: ChannelGroups,
    ) -> Result {
        let NormBackward { grad, input, weight, eps, grads } = *call;
        let numbers = Layer::new(self, &of.rows(input)?, weight, eps)?.numbers()?;
        let input = of.runs(input)?;
        let layer = layer_of_runs(self, &input, weight, of, eps)?;
        let sums = layer.grad_sums(grad, &numbers)?;

        let by_channel = self.unset(DType::F32, &[of.channels, 2])?;
        let pairs = Channels { outer: of.samples, count: 2 * of.channels, inner: 1 };
        self.launch_channel_sums(&sums, pairs, &by_channel)?;
        layer.parameters(&by_channel, [&grads.weight, &grads.bias])?;

        let rows = of.samples * of.groups;
        let by_row = self.unset(DType::F32, &[rows, 2])?;
        let operands = [(&by_row, Role::Own), (weight, Role::Weight), (&sums, Role::Own)];
        let params = structs::BatchNorm { len: count(rows), ..layer.params };
        layer.dispatch("group_norm_rows", &operands, params, groups(rows))?;
        let operands = [
            (grad, Role::A),
            (&input, Role::B),
            (&grads.input, Role::Own),
            (&numbers, Role::Own),
            (weight, Role::Weight),
            (&by_row, Role::Own),
        ];
        let samples = count(of.channels / of.groups * of.inner);
        let params = structs::BatchNorm { samples, ..layer.params };
        layer.dispatch("group_norm_backward", &operands, params, by_group(input.len()))
    }
}

/// Describes the runs of an input, which share the numbers of their rows and the weights of their channels.
fn layer_of_runs<'a>(
    wgpu: &'a Wgpu,
    runs: &'a Tensor,
    weight: &Tensor,
    of: ChannelGroups,
    eps: f32,
) -> Result<Layer<'a>> {
    let mut layer = Layer::new(wgpu, runs, weight, eps)?;
    layer.params.share = count(of.channels / of.groups);
    layer.params.weights = count(of.channels);
    Ok(layer)
}
