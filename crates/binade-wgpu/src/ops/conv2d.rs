//! Two-dimensional convolution: windows as columns, then a matrix product.

use super::{
    bias_add::Channels,
    gemm::{Bias, Gemm, Matrices},
    im2col::Geometry,
};
use crate::{Error, Tensor, Wgpu, shaders::Shader};
use binade_core::{DType, Op};
use binade_gpu::Driver;
use binade_ops::{AffineGrads, Conv2d, Conv2dConfig, operands, shape};

pub(super) const SHADERS: &[&Shader] = &[];

impl Conv2d for Wgpu {
    fn conv2d(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
        config: Conv2dConfig,
    ) -> Result<Tensor, Error> {
        let bias_shape = bias.map(Tensor::shape);
        let shape = shape::conv2d(input.shape(), weight.shape(), bias_shape, config)?;
        let operands = [&[input, weight][..], bias.as_slice()].concat();
        let dtype = operands::float(Op::CONV2D, &operands)?;
        self.has_made_all(&operands)?;
        let layer = Layer::new(input, weight, &shape, config);
        let (taps, windows, batch) = (layer.of.taps(), layer.of.windows(), layer.of.images);
        let columns = self.columns(input, &layer.of)?;
        let a = Matrices::dense(weight, layer.outputs, taps).shared();
        let b = Matrices::beside(&columns, batch, windows);
        let bias = bias.map_or(Bias::None, Bias::OfRows);
        let extents = [layer.outputs, taps, windows];
        self.gemm(&Gemm { a, b, bias, extents, batch, beside: false }, &shape, dtype)
    }

    fn conv2d_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        bias: bool,
        config: Conv2dConfig,
    ) -> Result<AffineGrads<Tensor>, Error> {
        let shape = shape::conv2d(input.shape(), weight.shape(), None, config)?;
        let dtype = operands::float(Op::CONV2D, &[input, weight])?;
        operands::grad(Op::CONV2D, grad, &shape, dtype)?;
        self.has_made_all(&[grad, input, weight])?;
        let layer = Layer::new(input, weight, &shape, config);
        let channels = Channels::of(&shape, 1);
        Ok(AffineGrads {
            input: self.conv2d_input(grad, input, weight, &layer)?,
            weight: self.conv2d_weight(grad, input, weight, &layer)?,
            bias: if bias { Some(self.channel_sums(grad, channels, dtype)?) } else { None },
        })
    }
}

impl Wgpu {
    /// Computes `Wᵀ·grad`, in f32 until each pixel has been summed up.
    fn conv2d_input(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        layer: &Layer,
    ) -> Result<Tensor, Error> {
        let (taps, windows, batch) = (layer.of.taps(), layer.of.windows(), layer.of.images);
        let a = Matrices::dense(weight, layer.outputs, taps).transposed().shared();
        let b = Matrices::dense(grad, layer.outputs, windows);
        let extents = [taps, layer.outputs, windows];
        let gemm = Gemm { a, b, bias: Bias::None, extents, batch, beside: true };
        let columns = self.gemm(&gemm, &[taps, batch * windows], DType::F32)?;
        self.pixels(&columns, &layer.of, input.shape(), input.dtype())
    }

    /// Computes `Σ grad·columnsᵀ` over the images.
    fn conv2d_weight(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        layer: &Layer,
    ) -> Result<Tensor, Error> {
        let (taps, all) = (layer.of.taps(), layer.of.images * layer.of.windows());
        let columns = self.columns(input, &layer.of)?;
        let by_output = self.columns(grad, &layer.by_output())?;
        let a = Matrices::dense(&by_output, layer.outputs, all);
        let b = Matrices::dense(&columns, taps, all).transposed();
        let extents = [layer.outputs, all, taps];
        let gemm = Gemm { a, b, bias: Bias::None, extents, batch: 1, beside: false };
        self.gemm(&gemm, weight.shape(), weight.dtype())
    }
}

/// Geometry of one convolution.
struct Layer {
    of: Geometry,
    outputs: usize,
}

impl Layer {
    /// Describes operands that have been checked, and whose result has this shape.
    fn new(input: &Tensor, weight: &Tensor, shape: &[usize], config: Conv2dConfig) -> Self {
        let plane = |shape: &[usize]| [shape[2], shape[3]];
        let (images, channels) = (shape[0], input.shape()[1]);
        let [image, kernel] = [input, weight].map(|tensor| plane(tensor.shape()));
        let of = Geometry { images, channels, image, kernel, output: plane(shape), config };
        Self { of, outputs: shape[1] }
    }

    /// Returns the geometry of one-pixel windows over the results, which make `[outputs, images · windows]` of them.
    fn by_output(&self) -> Geometry {
        let image = [1, self.of.windows()];
        let (kernel, output, config) = ([1, 1], image, Conv2dConfig::default());
        Geometry { channels: self.outputs, image, kernel, output, config, ..self.of }
    }
}
