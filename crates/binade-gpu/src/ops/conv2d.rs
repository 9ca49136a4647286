//! Two-dimensional convolution.

use super::{
    channels::{ChannelKernels, Channels, channel_sums},
    check,
    gemm::Matrices,
    permute::PermuteKernels,
};
use crate::{Driver, Gpu, Result, Tensor};
use binade_core::ops::{
    AffineGrads, Conv2dConfig,
    ImageLayout::{ChannelsFirst, ChannelsLast},
    OpInvocation, WeightGrads, channels_first, channels_last,
};

/// Batch of equal convolutions.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    /// Number of images.
    pub images: usize,
    /// Channels of an image.
    pub channels: usize,
    /// Rows and columns of an image.
    pub image: [usize; 2],
    /// Rows and columns of a window.
    pub kernel: [usize; 2],
    /// Rows and columns of windows.
    pub output: [usize; 2],
    /// Strides, padding, dilation, groups and layout.
    pub config: Conv2dConfig,
}

impl Geometry {
    /// Describes windows of one pixel over images whose planes are `[1, windows]`.
    pub fn of_pixels(images: usize, channels: usize, windows: usize) -> Self {
        let (image, kernel, config) = ([1, windows], [1, 1], Conv2dConfig::default());
        Self { images, channels, image, kernel, output: image, config }
    }

    /// Returns the number of elements of one window: rows of the matrix of columns.
    pub fn taps(&self) -> usize {
        self.channels * self.kernel[0] * self.kernel[1]
    }

    /// Returns the number of windows of one image.
    pub fn windows(&self) -> usize {
        self.output[0] * self.output[1]
    }
}

/// Geometry of one convolution.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// Images and windows.
    pub of: Geometry,
    /// Channels of the result.
    pub outputs: usize,
}

impl Layer {
    /// Describes operands that have been checked, and whose result has this shape.
    pub fn new<D: Driver>(
        input: &Tensor<D>,
        weight: &Tensor<D>,
        shape: &[usize],
        config: Conv2dConfig,
    ) -> Self {
        let extents = |shape: &[usize]| config.layout.extents(shape).unwrap_or_default();
        let ([_, channels, h, w], [images, outputs, rows, columns]) =
            (extents(input.shape()), extents(shape));
        let kernel = [weight.shape()[2], weight.shape()[3]];
        let of =
            Geometry { images, channels, image: [h, w], kernel, output: [rows, columns], config };
        Self { of, outputs }
    }

    /// Returns the outputs of a group, and its taps.
    pub fn product(&self) -> [usize; 2] {
        let groups = self.of.config.groups;
        [self.outputs / groups, self.of.taps() / groups]
    }

    /// Returns the shape of the result.
    pub fn shape(&self) -> [usize; 4] {
        let Geometry { images, output: [rows, columns], config, .. } = self.of;
        config.layout.shape([images, self.outputs, rows, columns])
    }

    /// Returns the weight, or a matrix of its rows, the same for all images.
    pub fn weight<'a, D: Driver>(&self, matrix: &'a Tensor<D>) -> Matrices<'a, D> {
        let row = matrix.len().checked_div(self.outputs).unwrap_or_default();
        Matrices::dense(matrix, self.outputs, row).shared()
    }
}

/// Driver with kernels of convolutions.
pub trait Conv2dKernels: ChannelKernels + PermuteKernels {
    /// True if kernels support channels-last images, with weights `[O, KH, KW, C / groups]`. Otherwise such images are permuted before and after.
    const TAKES_CHANNELS_LAST: bool;

    /// Returns the convolution of operands that have been checked.
    ///
    /// # Errors
    ///
    /// Returns an error for dimensions beyond the range that kernels count, and if the device fails.
    fn launch_conv2d(
        &self,
        operands: [&Tensor<Self>; 2],
        bias: Option<&Tensor<Self>>,
        layer: &Layer,
    ) -> Result<Tensor<Self>, Self>;

    /// Computes the gradient of the weight, and of the input if a tensor for it is given, from the result's gradient, the input and the weight.
    ///
    /// # Errors
    ///
    /// As for [`launch_conv2d`](Self::launch_conv2d).
    fn launch_conv2d_backward(
        &self,
        operands: [&Tensor<Self>; 3],
        layer: &Layer,
        of_input: Option<&Tensor<Self>>,
        of_weight: &Tensor<Self>,
    ) -> Result<(), Self>;
}

impl<D: Conv2dKernels> binade_core::ops::Conv2d for Gpu<'_, D> {
    fn conv2d(
        &self,
        input: &Tensor<D>,
        weight: &Tensor<D>,
        bias: Option<&Tensor<D>>,
        config: Conv2dConfig,
    ) -> Result<Tensor<D>, D> {
        let operands = [&[input, weight][..], bias.as_slice()].concat();
        let shape = check(self.0, &OpInvocation::Conv2d { config }, &operands)?.shape;
        if let Some(config) = permuted::<D>(config) {
            let result = self.conv2d(&channels_first(self, input)?, weight, bias, config)?;
            return channels_last(self, &result);
        }
        let layer = Layer::new(input, weight, &shape, config);
        self.0.launch_conv2d([input, &as_images(self, weight, config)?], bias, &layer)
    }

    fn conv2d_backward(
        &self,
        grad: &Tensor<D>,
        input: &Tensor<D>,
        weight: &Tensor<D>,
        bias: bool,
        config: Conv2dConfig,
    ) -> Result<AffineGrads<Tensor<D>>, D> {
        let layer = backward_layer(self.0, [grad, input, weight], config)?;
        if let Some(config) = permuted::<D>(config) {
            let (g, x) = (channels_first(self, grad)?, channels_first(self, input)?);
            let grads = self.conv2d_backward(&g, &x, weight, bias, config)?;
            return Ok(AffineGrads { input: channels_last(self, &grads.input)?, ..grads });
        }
        let of_input = self.0.unset(input.dtype(), input.shape())?;
        let WeightGrads { weight, bias } =
            weight_grads(self, [grad, input, weight], &layer, Some(&of_input), bias)?;
        Ok(AffineGrads { input: of_input, weight, bias })
    }

    fn conv2d_backward_of_weight(
        &self,
        grad: &Tensor<D>,
        input: &Tensor<D>,
        weight: &Tensor<D>,
        bias: bool,
        config: Conv2dConfig,
    ) -> Result<WeightGrads<Tensor<D>>, D> {
        let layer = backward_layer(self.0, [grad, input, weight], config)?;
        if let Some(config) = permuted::<D>(config) {
            let (g, x) = (channels_first(self, grad)?, channels_first(self, input)?);
            return self.conv2d_backward_of_weight(&g, &x, weight, bias, config);
        }
        weight_grads(self, [grad, input, weight], &layer, None, bias)
    }
}

/// Returns the configuration with channels first, if they are last and the driver's kernels do not support that.
fn permuted<D: Conv2dKernels>(config: Conv2dConfig) -> Option<Conv2dConfig> {
    let is_taken = D::TAKES_CHANNELS_LAST || config.layout == ChannelsFirst;
    (!is_taken).then_some(Conv2dConfig { layout: ChannelsFirst, ..config })
}

/// Returns the weight in the order of the images' axes.
fn as_images<D: Conv2dKernels>(
    device: &Gpu<'_, D>,
    weight: &Tensor<D>,
    config: Conv2dConfig,
) -> Result<Tensor<D>, D> {
    match config.layout {
        ChannelsFirst => Ok(weight.clone()),
        ChannelsLast => channels_last(device, weight),
    }
}

/// Returns the layer of a backward pass, and checks gradient and operands.
fn backward_layer<D: Driver>(
    device: &D,
    [grad, input, weight]: [&Tensor<D>; 3],
    config: Conv2dConfig,
) -> Result<Layer, D> {
    let call = OpInvocation::Conv2dBackward { bias: false, config };
    check(device, &call, &[grad, input, weight])?;
    Ok(Layer::new(input, weight, grad.shape(), config))
}

/// Returns the gradients of weight and bias, and computes the input's if a tensor for it is given.
fn weight_grads<D: Conv2dKernels>(
    gpu: &Gpu<'_, D>,
    [grad, input, weight]: [&Tensor<D>; 3],
    layer: &Layer,
    of_input: Option<&Tensor<D>>,
    bias: bool,
) -> Result<WeightGrads<Tensor<D>>, D> {
    let (device, config) = (gpu.0, layer.of.config);
    let weight = as_images(gpu, weight, config)?;
    let of_weight = device.unset(weight.dtype(), weight.shape())?;
    device.launch_conv2d_backward([grad, input, &weight], layer, of_input, &of_weight)?;
    let (of_weight, axis) = match config.layout {
        ChannelsFirst => (of_weight, 1),
        ChannelsLast => (channels_first(gpu, &of_weight)?, 3),
    };
    let of = Channels::along(grad.shape(), axis);
    let sums = || channel_sums(device, grad, of, grad.dtype());
    Ok(WeightGrads { weight: of_weight, bias: bias.then(sums).transpose()? })
}
