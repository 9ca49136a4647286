//! Two-dimensional convolution: windows as columns, then a matrix product.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

use super::{
    bias_add::Channels,
    gemm::{Gemm, Matrices},
    im2col::Geometry,
};
use crate::{Cuda, Error, Tensor};
use binade_autocast::Autocast;
use binade_core::{DType, Op};
use binade_ops::{AffineGrads, Conv2d, Conv2dConfig, operands, shape};

/// Elements of the columns that are made at a time, but for an image that has more by itself.
const MOST_COLUMNS: usize = 1 << 26;

/// Rows of the columns are a multiple of this, so that a product reads the weight in whole words.
const ROWS: usize = 8;

impl Conv2d for Cuda {
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
        let result = self.unset(dtype, &shape)?;
        if result.is_empty() {
            return Ok(result);
        }
        // The bias is one tap more, of a pixel that is 1 in every window.
        let (taps, outputs, windows) = (layer.of.taps(), layer.outputs, layer.of.windows());
        let k = (taps + usize::from(bias.is_some())).next_multiple_of(ROWS);
        let matrix = self.weight_matrix(weight, bias, [outputs, taps, k])?;
        for (of, part) in layer.parts(k) {
            let columns = self.columns(&part.of(input, layer.pixels())?, &of, k)?;
            let to = part.of(&result, outputs * windows)?;
            let a = Matrices { step: 0, ..Matrices::dense(&matrix, outputs, k) };
            let b = beside(&columns, of.images, windows);
            let c = Matrices::dense(&to, outputs, windows);
            let batch = of.images;
            self.gemm(&Gemm { a, b, bias: None, c, m: outputs, n: windows, k, batch })?;
        }
        Ok(result)
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
        let (outer, count, inner) = (layer.of.images, layer.outputs, layer.of.windows());
        let of = Channels { outer, count, inner };
        Ok(AffineGrads {
            input: self.conv2d_input(grad, input, weight, &layer)?,
            weight: self.conv2d_weight(grad, input, weight, &layer)?,
            bias: if bias { Some(self.channel_sums(grad, of, dtype)?) } else { None },
        })
    }
}

impl Cuda {
    /// `Wᵀ·grad`, f32 until each pixel has been summed up.
    fn conv2d_input(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        layer: &Layer,
    ) -> Result<Tensor, Error> {
        let result = self.unset(input.dtype(), input.shape())?;
        if result.is_empty() {
            return Ok(result);
        }
        let (taps, outputs, windows) = (layer.of.taps(), layer.outputs, layer.of.windows());
        for (of, part) in layer.parts(taps) {
            let columns = self.unset(DType::F32, &[taps, of.images * windows])?;
            let g = part.of(grad, outputs * windows)?;
            let a = Matrices { step: 0, ..Matrices::dense(weight, outputs, taps).transposed() };
            let b = Matrices::dense(&g, outputs, windows);
            let c = beside(&columns, of.images, windows);
            let batch = of.images;
            self.gemm(&Gemm { a, b, bias: None, c, m: taps, n: windows, k: outputs, batch })?;
            self.pixels(&columns, &of, &part.of(&result, layer.pixels())?)?;
        }
        Ok(result)
    }

    /// `Σ grad·columnsᵀ` over the images: f32 within a part of the batch, and from part to part.
    fn conv2d_weight(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        layer: &Layer,
    ) -> Result<Tensor, Error> {
        let (taps, outputs, windows) = (layer.of.taps(), layer.outputs, layer.of.windows());
        let parts: Vec<(Geometry, Part)> = layer.parts(taps).collect();
        let sums = self.unset(DType::F32, &[parts.len(), outputs * taps])?;
        for (i, (of, part)) in parts.iter().enumerate() {
            let columns = self.columns(&part.of(input, layer.pixels())?, of, taps)?;
            let g = part.of(grad, outputs * windows)?;
            let g = self.by_output(&g, [of.images, outputs, windows])?;
            let k = of.images * windows;
            let to = sums.slice(i * outputs * taps, outputs * taps)?;
            let a = Matrices::dense(&g, outputs, k);
            let b = Matrices::dense(&columns, taps, k).transposed();
            let c = Matrices::dense(&to, outputs, taps);
            self.gemm(&Gemm { a, b, bias: None, c, m: outputs, n: taps, k, batch: 1 })?;
        }
        let sum = self.sum_of_columns(&sums, outputs * taps)?;
        self.cast(&sum, weight.dtype())?.reshape(weight.shape())
    }
}

/// A matrix for each image, side by side in one.
fn beside(columns: &Tensor, images: usize, windows: usize) -> Matrices<'_> {
    Matrices { tensor: columns, row: images * windows, step: windows, transposed: false }
}

/// One convolution.
struct Layer {
    of: Geometry,
    outputs: usize,
}

/// Images of a batch, from the first on.
struct Part {
    first: usize,
    images: usize,
}

impl Part {
    /// Their elements in a tensor that has `each` of each image.
    fn of(&self, tensor: &Tensor, each: usize) -> Result<Tensor, Error> {
        tensor.slice(self.first * each, self.images * each)
    }
}

impl Layer {
    /// Of operands whose shapes were found to fit, and the shape of their result.
    fn new(input: &Tensor, weight: &Tensor, shape: &[usize], config: Conv2dConfig) -> Self {
        let plane = |shape: &[usize]| [shape[2], shape[3]];
        let (images, channels) = (shape[0], input.shape()[1]);
        let [image, kernel] = [input, weight].map(|tensor| plane(tensor.shape()));
        let output = plane(shape);
        let of = Geometry { images, channels, image, kernel, output, config };
        Self { of, outputs: shape[1] }
    }

    /// Elements of one input image.
    fn pixels(&self) -> usize {
        self.of.channels * self.of.image[0] * self.of.image[1]
    }

    /// As many images at a time as make columns of `rows` rows that are not too large: what follows from the shape.
    fn parts(&self, rows: usize) -> impl Iterator<Item = (Geometry, Part)> {
        let all = self.of;
        let step = (MOST_COLUMNS / (rows * all.windows()).max(1)).max(1);
        (0..all.images).step_by(step).map(move |first| {
            let images = step.min(all.images - first);
            (Geometry { images, ..all }, Part { first, images })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_batch_is_cut_into_parts_that_have_every_image_once() {
        let (image, output, config) = ([1 << 12; 2], [1 << 12; 2], Conv2dConfig::default());
        let of = Geometry { images: 7, channels: 1, image, kernel: [1, 1], output, config };
        let parts: Vec<_> = Layer { of, outputs: 1 }.parts(2).collect();
        let found = parts.iter().map(|(of, part)| (part.first, part.images, of.images));
        assert!(found.eq([(0, 2, 2), (2, 2, 2), (4, 2, 2), (6, 1, 1)]));
        let whole: Vec<_> = Layer { of, outputs: 1 }.parts(100).map(|(of, _)| of.images).collect();
        assert_eq!(whole, [1; 7]);
    }
}
