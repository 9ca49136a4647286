//! Gradients of convolution and pooling.

use crate::{
    Device, Var,
    backward::beside,
    error::Failed,
    ops::{Outcome, Saves, linear_map::map},
    record::RecordedRule,
};
use binade_core::ops::{
    Conv2dConfig, ImageLayout, MaxPool2dConfig, Ops, channels_first, channels_last,
};
use binade_core::{Handle, Op};
use std::sync::Arc;

/// Records the gradient of input, weight or bias of a convolution.
pub(super) fn conv2d<D: Device + Ops>(
    operand: usize,
    taken: &[Var<D>],
    config: Conv2dConfig,
) -> Outcome<D> {
    let [grad, x, w] = taken else { unreachable!("`conv2d_backward` takes three tensors") };
    let form = Arc::new(Convolution { x: x.tensor().clone(), w: w.tensor().clone(), config });
    match operand {
        0 => form.record(Part::Input, [w, grad]),
        1 => form.record(Part::Weight, [grad, x]),
        _ if config.layout == ImageLayout::ChannelsLast => {
            let pixels: usize = grad.shape()[..3].iter().product();
            grad.reshape(&[pixels, grad.shape()[3]])?.channel_sums()
        }
        _ => grad.channel_sums(),
    }
}

/// Form `Σ g·conv(x, w)` of input, weight and the output's gradient. The call is linear in each tensor; its derivative with respect to one is a call
/// on the other two.
struct Convolution<D: Device> {
    /// Tensors of the shapes of input and weight, required by backward calls.
    x: D::Tensor,
    w: D::Tensor,
    config: Conv2dConfig,
}

/// Operand that a convolution's form is differentiated by. The other two follow it in this order, cyclically.
#[derive(Clone, Copy)]
enum Part {
    Input,
    Weight,
    Output,
}

impl Part {
    const fn next(self) -> Self {
        match self {
            Self::Input => Self::Weight,
            Self::Weight => Self::Output,
            Self::Output => Self::Input,
        }
    }
}

impl<D: Device + Ops> Convolution<D> {
    /// Computes the derivative by one part from the other two.
    fn compute(
        &self,
        by: Part,
        device: &D,
        [first, second]: [&D::Tensor; 2],
    ) -> Result<D::Tensor, <D as Handle>::Error> {
        let config = self.config;
        match by {
            Part::Input => Ok(device.conv2d_backward(second, &self.x, first, false, config)?.input),
            Part::Weight => {
                let grads =
                    device.conv2d_backward_of_weight(first, second, &self.w, false, config)?;
                Ok(grads.weight)
            }
            Part::Output => device.conv2d(first, second, None, config),
        }
    }

    /// Records the derivative by one part.
    fn record(self: Arc<Self>, by: Part, others: [&Var<D>; 2]) -> Outcome<D> {
        let here = others[0];
        let tensors = others.map(Var::tensor);
        let value = self.compute(by, here.tape().device(), tensors)?;
        let [first, second] = tensors.map(Clone::clone);
        let form = self.clone();
        let rule = move |device: &D, grad: &D::Tensor| -> Result<_, Failed<D>> {
            let of_first = form.compute(by.next(), device, [&second, grad])?;
            let of_second = form.compute(by.next().next(), device, [grad, &first])?;
            Ok(vec![Some(of_first), Some(of_second)])
        };
        let inputs = others.map(Var::value);
        let [first, second] = inputs.map(crate::record::Value::kept);
        let saves = Saves::Inputs(&inputs);
        Ok(here.push_recorded(Op::CONV2D, &inputs, &saves, value, rule, |_| {
            RecordedRule::Own(Box::new(move |grad, place| {
                let form = self.clone();
                let recorded = if place == 0 {
                    form.record(by.next(), [&second.on(grad.tape()), grad])
                } else {
                    form.record(by.next().next(), [grad, &first.on(grad.tape())])
                };
                recorded.map(Some)
            }))
        }))
    }
}

/// Records the gradient of a pooling's input: linear in `g`, with the places of the largest elements constant.
pub(super) fn max_pool2d<D: Device + Ops>(taken: &[Var<D>], config: MaxPool2dConfig) -> Outcome<D> {
    let [grad, x] = taken else { unreachable!("`max_pool2d_backward` takes two tensors") };
    let shape = config.layout.extents(&grad.shape()).unwrap_or_default();
    let [of, back] = [x.tensor().clone(), x.tensor().clone()];
    let spread = move |device: &D, g: &D::Tensor| device.max_pool2d_backward(g, &of, config);
    let gather = move |device: &D, v: &D::Tensor| {
        if config.layout == ImageLayout::ChannelsFirst {
            return gather(device, v, &back, &shape, config);
        }
        let [v, x] = [channels_first(device, v)?, channels_first(device, &back)?];
        let first = MaxPool2dConfig { layout: ImageLayout::ChannelsFirst, ..config };
        channels_last(device, &gather(device, &v, &x, &shape, first)?)
    };
    grad.linear_map(Op::MAX_POOL2D, [map(spread), map(gather)])
}

/// Returns the element of `values` at the place of each window's largest element of `x`, of images with the channels first.
///
/// Windows are taken in turns, so that no two windows of a turn overlap. Backward of the pooling sends a one to the place of each window
/// of the turn. All other elements become 0, and a convolution with ones adds up each window, which has one element left.
fn gather<D: Device + Ops>(
    device: &D,
    values: &D::Tensor,
    x: &D::Tensor,
    shape: &[usize],
    config: MaxPool2dConfig,
) -> Result<D::Tensor, <D as Handle>::Error> {
    let MaxPool2dConfig { kernel, stride, padding, .. } = config;
    let near = beside(device, values);
    let (dtype, images) = (device.dtype(values), device.shape(values));
    let [ones, all] = [near.fill(1.0, shape, dtype)?, near.fill(1.0, &images, dtype)?];
    let window = near.fill(1.0, &[1, 1, kernel[0], kernel[1]], dtype)?;
    let flat = [images[0] * images[1], 1, images[2], images[3]];
    let turns = [0, 1].map(|axis| kernel[axis].div_ceil(stride[axis]));
    let mut total = near.fill(0.0, shape, dtype)?;
    for turn in 0..turns[0] * turns[1] {
        let others = others(turn, turns, [shape[2], shape[3]]);
        let others = near.upload(&others, &shape[2..], binade_core::DType::F32)?;
        let sent =
            device.max_pool2d_backward(&device.masked_fill(&ones, &others, 0.0)?, x, config)?;
        let elsewhere = device.masked_fill(&all, &sent, 0.0)?;
        let picked = device.reshape(&device.masked_fill(values, &elsewhere, 0.0)?, &flat)?;
        let sums = device.conv2d(
            &picked,
            &window,
            None,
            Conv2dConfig { stride, padding, ..Conv2dConfig::default() },
        )?;
        let part = device.masked_fill(&device.reshape(&sums, shape)?, &others, 0.0)?;
        total = device.add(&total, &part)?;
    }
    Ok(total)
}

/// Returns 0 for each window of a turn, and 1 for all others.
fn others(turn: usize, [rows, columns]: [usize; 2], [height, width]: [usize; 2]) -> Vec<f32> {
    let is_other = |place: usize| {
        let (row, column) = (place / width, place % width);
        (row % rows, column % columns) != (turn / columns, turn % columns)
    };
    (0..height * width).map(|place| f32::from(u8::from(is_other(place)))).collect()
}
