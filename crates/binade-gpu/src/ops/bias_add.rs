//! Sum of a tensor and a vector along the channel axis.

use super::channels::{ChannelKernels, Channels, channel_sums};
use crate::{Result, Tensor};
use binade_core::Op;
use binade_ops::{operands, shape};

pub fn bias_add<D: ChannelKernels>(
    device: &D,
    input: &Tensor<D>,
    bias: &Tensor<D>,
) -> Result<Tensor<D>, D> {
    let shape = shape::bias_add(input.shape(), bias.shape())?;
    let dtype = operands::float(Op::BIAS_ADD, [input.dtype(), bias.dtype()])?;
    device.check_owners(&[input, bias])?;
    let result = device.unset(dtype, &shape)?;
    device.launch_bias_add([input, bias, &result], Channels::of(&shape))?;
    Ok(result)
}

pub fn bias_add_backward<D: ChannelKernels>(
    device: &D,
    grad: &Tensor<D>,
) -> Result<[Tensor<D>; 2], D> {
    let dtype = operands::float(Op::BIAS_ADD, [grad.dtype()])?;
    let of = Channels::of(&shape::softmax(Op::BIAS_ADD, grad.shape())?);
    device.check_owners(&[grad])?;
    Ok([grad.clone(), channel_sums(device, grad, of, dtype)?])
}
