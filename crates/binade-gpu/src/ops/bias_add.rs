//! Sum of a tensor and a vector along the channel axis.

use super::check;
use super::channels::{ChannelKernels, Channels, channel_sums};
use crate::{Result, Tensor};
use binade_core::{TensorSpec};
use binade_ops::{OpInvocation};

pub fn bias_add<D: ChannelKernels>(
    device: &D,
    input: &Tensor<D>,
    bias: &Tensor<D>,
) -> Result<Tensor<D>, D> {
    let call = OpInvocation::BiasAdd; let TensorSpec { dtype, shape } = check(device, &call, &[input, bias])?;
    let result = device.unset(dtype, &shape)?;
    device.launch_bias_add([input, bias, &result], Channels::of(&shape))?;
    Ok(result)
}

pub fn bias_add_backward<D: ChannelKernels>(
    device: &D,
    grad: &Tensor<D>,
) -> Result<[Tensor<D>; 2], D> {
    let call = OpInvocation::BiasAddBackward; let TensorSpec { dtype, shape } = check(device, &call, &[grad])?; let of = Channels::of(&shape);
    Ok([grad.clone(), channel_sums(device, grad, of, dtype)?])
}
