//! Two-dimensional convolution, image by image: windows as columns, then a matrix product. Images with the channels last are permuted.

use super::{im2col::Geometry, operands::check};
use crate::{
    Cpu, Error, Tensor, parallel,
    product::{Matrix, PER_OPERATION, add_product, product},
    reduce::{self, Channels},
};
use binade_core::TensorSpec;
use binade_core::ops::{
    AffineGrads, Conv2d, Conv2dConfig,
    ImageLayout::{ChannelsFirst, ChannelsLast},
    OpInvocation, channels_first, channels_last,
};
use std::ops::Range;

impl Conv2d for Cpu {
    fn conv2d(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
        config: Conv2dConfig,
    ) -> Result<Tensor, Error> {
        let operands = [&[input, weight][..], bias.as_slice()].concat();
        let TensorSpec { dtype, shape } = check(&OpInvocation::Conv2d { config }, &operands)?;
        if config.layout == ChannelsLast {
            let first = Conv2dConfig { layout: ChannelsFirst, ..config };
            let result = self.conv2d(&channels_first(self, input)?, weight, bias, first)?;
            return channels_last(self, &result);
        }
        let layer = Layer::new(input, weight, &shape, config);
        let bias = bias.map(Tensor::to_f32);
        let out = layer.forward(&input.to_f32(), &weight.to_f32(), bias.as_deref());
        Tensor::from_f32(out, &shape, dtype)
    }

    fn conv2d_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        bias: bool,
        config: Conv2dConfig,
    ) -> Result<AffineGrads<Tensor>, Error> {
        let call = OpInvocation::Conv2dBackward { bias, config };
        let dtype = check(&call, &[grad, input, weight])?.dtype;
        if config.layout == ChannelsLast {
            let first = Conv2dConfig { layout: ChannelsFirst, ..config };
            let (g, x) = (channels_first(self, grad)?, channels_first(self, input)?);
            let grads = self.conv2d_backward(&g, &x, weight, bias, first)?;
            return Ok(AffineGrads { input: channels_last(self, &grads.input)?, ..grads });
        }
        let layer = Layer::new(input, weight, grad.shape(), config);
        let (g, x, w) = (grad.to_f32(), input.to_f32(), weight.to_f32());
        let (dx, dw) = (layer.input_grad(&g, &w), layer.weight_grad(&g, &x));
        let bias = bias.then(|| {
            let sums = reduce::channels(&g, Channels::of(grad.shape(), 1));
            Tensor::from_f32(sums, &[layer.outputs], dtype)
        });
        Ok(AffineGrads {
            input: Tensor::from_f32(dx, input.shape(), dtype)?,
            weight: Tensor::from_f32(dw, weight.shape(), dtype)?,
            bias: bias.transpose()?,
        })
    }
}

/// One convolution: `images` times the same geometry, whose taps and outputs fall into groups.
struct Layer {
    images: usize,
    outputs: usize,
    groups: usize,
    geometry: Geometry,
}

impl Layer {
    /// Describes operands that have been checked, and whose result has this shape.
    fn new(input: &Tensor, weight: &Tensor, shape: &[usize], config: Conv2dConfig) -> Self {
        let ([image, kernel], output) = ([input, weight].map(plane), [shape[2], shape[3]]);
        let channels = input.shape()[1];
        let geometry = Geometry { channels, image, kernel, output, config };
        Self { images: shape[0], outputs: shape[1], groups: config.groups, geometry }
    }

    /// Returns the cost of one image. An empty input may have windows beyond any count.
    fn cost(&self) -> usize {
        let columns = self.geometry.taps().saturating_mul(self.geometry.windows());
        columns.saturating_add(columns.saturating_mul(self.outputs) / self.groups / PER_OPERATION)
    }

    /// Returns the number of elements of one image's result.
    fn results(&self) -> usize {
        self.outputs * self.geometry.windows()
    }

    /// Returns the outputs of a group, and its taps.
    fn product(&self) -> [usize; 2] {
        [self.outputs / self.groups, self.geometry.taps() / self.groups]
    }

    fn parts(&self) -> impl Iterator<Item = Part> + use<> {
        let groups = self.groups;
        (0..groups).map(move |group| Part { group, groups })
    }

    /// Allocates a matrix for one image's windows.
    fn columns(&self) -> Vec<f32> {
        vec![0.0; self.geometry.taps() * self.geometry.windows()]
    }

    /// Computes `W·columns + b` for each image.
    fn forward(&self, x: &[f32], w: &[f32], bias: Option<&[f32]>) -> Vec<f32> {
        let ([m, k], windows) = (self.product(), self.geometry.windows());
        let mut out = vec![0.0; self.images * self.results()];
        parallel::rows(&mut out, self.results(), self.cost(), |first, block| {
            let mut columns = self.columns();
            for (i, out) in block.chunks_exact_mut(self.results()).enumerate() {
                self.geometry.gather(self.image(x, first + i), &mut columns);
                let outputs = out.chunks_exact_mut(windows);
                for (plane, bias) in outputs.zip(bias.unwrap_or_default()) {
                    plane.fill(*bias);
                }
                for part in self.parts() {
                    let [w, columns] = [part.of(w), part.of(&columns)];
                    let (w, columns) = (Matrix::f32(w, m, k), Matrix::f32(columns, k, windows));
                    add_product(w, columns, part.of_mut(out));
                }
            }
        });
        out
    }

    /// Computes `Wᵀ·grad` for each image, and adds each element to the pixel that its tap lay on.
    fn input_grad(&self, g: &[f32], w: &[f32]) -> Vec<f32> {
        let ([m, k], windows) = (self.product(), self.geometry.windows());
        let mut dx = vec![0.0; self.images * self.geometry.pixels()];
        parallel::rows(&mut dx, self.geometry.pixels(), self.cost(), |first, block| {
            let mut columns = self.columns();
            for (i, dx) in block.chunks_exact_mut(self.geometry.pixels()).enumerate() {
                for part in self.parts() {
                    let [w, g] = [part.of(w), part.of(self.result(g, first + i))];
                    let (w, g) = (Matrix::f32(w, m, k), Matrix::f32(g, m, windows));
                    product(w.transposed(), g, part.of_mut(&mut columns));
                }
                self.geometry.scatter(&columns, dx);
            }
        });
        dx
    }

    /// Computes `Σ grad·columnsᵀ` over the images, block by block and then in the order of the blocks.
    fn weight_grad(&self, g: &[f32], x: &[f32]) -> Vec<f32> {
        let ([m, k], windows) = (self.product(), self.geometry.windows());
        let partials = parallel::partials(self.images, self.cost(), |images| {
            let (mut columns, mut dw) = (self.columns(), vec![0.0; self.outputs * k]);
            for i in images {
                self.geometry.gather(self.image(x, i), &mut columns);
                for part in self.parts() {
                    let [g, columns] = [part.of(self.result(g, i)), part.of(&columns)];
                    let columns = Matrix::f32(columns, k, windows).transposed();
                    add_product(Matrix::f32(g, m, windows), columns, part.of_mut(&mut dw));
                }
            }
            dw
        });
        let mut total = vec![0.0; self.outputs * k];
        for partial in &partials {
            total.iter_mut().zip(partial).for_each(|(total, part)| *total += part);
        }
        total
    }

    fn image<'a>(&self, x: &'a [f32], i: usize) -> &'a [f32] {
        &x[i * self.geometry.pixels()..][..self.geometry.pixels()]
    }

    fn result<'a>(&self, g: &'a [f32], i: usize) -> &'a [f32] {
        &g[i * self.results()..][..self.results()]
    }
}

/// Group of a convolution: its equal part of weight, columns and results.
#[derive(Clone, Copy)]
struct Part {
    group: usize,
    groups: usize,
}

impl Part {
    fn range(self, len: usize) -> Range<usize> {
        let each = len / self.groups;
        self.group * each..(self.group + 1) * each
    }

    fn of(self, all: &[f32]) -> &[f32] {
        &all[self.range(all.len())]
    }

    fn of_mut(self, all: &mut [f32]) -> &mut [f32] {
        let range = self.range(all.len());
        &mut all[range]
    }
}

/// Returns the last two extents of a four-dimensional tensor.
fn plane(tensor: &Tensor) -> [usize; 2] {
    [tensor.shape()[2], tensor.shape()[3]]
}
