//! Two-dimensional convolution: by the library, or by windows as columns and a matrix product.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

use super::{
    gemm::{Gemm, Matrices},
    im2col::{Columns, Images},
    ranges::{JoinTarget, Sums},
};
use crate::{Cuda, Error, Result, Tensor, library::Pass};
use binade_core::DType;
use binade_core::ops::{BiasAdd, Conv2dConfig, ImageLayout};
use binade_gpu::{Conv2dKernels, Driver, Geometry, Layer};

/// Greatest number of elements of columns made at a time, unless one image has more.
const MOST_COLUMNS: usize = 1 << 26;

impl Conv2dKernels for Cuda {
    const TAKES_CHANNELS_LAST: bool = true;

    fn launch_conv2d(&self, x: [&Tensor; 2], bias: Option<&Tensor>, of: &Layer) -> Result<Tensor> {
        let [input, weight] = x;
        let (dtype, config) = (input.dtype(), of.of.config);
        let result = self.unset(dtype, &of.shape())?;
        if result.is_empty() {
            return Ok(result);
        }
        // Products and bias are rounded once. After a library has rounded the products, the bias can be added only in f32.
        let is_sum = bias.is_none() || dtype == DType::F32;
        if is_sum && self.convolves(Pass::Forward, [input, weight, &result], config)? {
            return match bias {
                Some(bias) => self.bias_add_to(&result, bias, of),
                None => Ok(result),
            };
        }
        // A bias as a tap is an operand, and would lose the bits that TF32 drops.
        if let Some(bias) = bias
            && self.drops_bits(dtype)?
        {
            return self.bias_add_to(&self.launch_conv2d(x, None, of)?, bias, of);
        }
        match config.layout {
            ImageLayout::ChannelsFirst => self.conv2d_products(x, bias, of, &result)?,
            ImageLayout::ChannelsLast => self.conv2d_of_rows(x, bias, of, &result)?,
        }
        Ok(result)
    }

    /// A library computes the passes that it supports, matrix products the rest.
    fn launch_conv2d_backward(
        &self,
        operands: [&Tensor; 3],
        layer: &Layer,
        of_input: Option<&Tensor>,
        of_weight: &Tensor,
    ) -> Result {
        let ([grad, input, weight], config) = (operands, layer.of.config);
        let missing = match of_input {
            Some(to) if self.convolves(Pass::OfInput, [to, weight, grad], config)? => None,
            wanted => wanted,
        };
        let is_done = self.convolves(Pass::OfWeight, [input, of_weight, grad], config)?;
        let missing = [missing, Some(of_weight).filter(|_| !is_done)];
        if missing.iter().any(Option::is_some) {
            self.conv2d_grads(operands, missing, layer, MOST_COLUMNS)?;
        }
        Ok(())
    }
}

impl Cuda {
    /// Adds a bias of the outputs to a result.
    fn bias_add_to(&self, result: &Tensor, bias: &Tensor, layer: &Layer) -> Result<Tensor> {
        if layer.of.config.layout == ImageLayout::ChannelsFirst {
            return self.bias_add(result, bias);
        }
        let pixels = result.reshape(&[layer.of.images * layer.of.windows(), layer.outputs])?;
        self.bias_add(&pixels, bias)?.reshape(&layer.shape())
    }

    /// Computes the convolution of images with the channels last: the product of windows, as rows, and kernels is the result.
    fn conv2d_of_rows(
        &self,
        [input, weight]: [&Tensor; 2],
        bias: Option<&Tensor>,
        layer: &Layer,
        result: &Tensor,
    ) -> Result {
        let ([m, k], groups) = (layer.product(), layer.of.config.groups);
        let (outputs, windows) = (layer.outputs, layer.of.windows());
        // A product of several groups has no bias operand; the bias is one more tap, over a pixel that is 1.
        let (bias, tap) = if groups == 1 { (bias, None) } else { (None, bias) };
        let matrix = self.weight_matrix(weight, tap, [outputs, k])?;
        let k = k + usize::from(tap.is_some());
        for (of, part) in parts(layer, groups * k, MOST_COLUMNS) {
            let input = part.of(input, pixels(&of))?;
            let rows = if is_of_pixels(&of) && tap.is_none() {
                Columns::of_pixels(input, of.channels)
            } else {
                self.columns(&input, &of, groups * k, Images::Together)?
            };
            let to = part.of(result, outputs * windows)?;
            let (a, b) = (rows.whole().transposed(), layer.weight(&matrix).transposed());
            let count = of.images * windows;
            let group_steps = [rows.group_step(k), m * b.row, m];
            let gemm = Gemm::of(a, b, Matrices::dense(&to, count, outputs), [count, m, k]);
            self.gemm(&Gemm { bias, groups, group_steps, ..gemm })?;
        }
        Ok(())
    }

    /// Computes the convolution by products.
    fn conv2d_products(
        &self,
        [input, weight]: [&Tensor; 2],
        bias: Option<&Tensor>,
        layer: &Layer,
        result: &Tensor,
    ) -> Result {
        let ([m, k], groups) = (layer.product(), layer.of.config.groups);
        let (outputs, windows) = (layer.outputs, layer.of.windows());
        if multiplies_images(layer, input.dtype()) && bias.is_none() {
            let (a, b) = (layer.weight(weight), Matrices::dense(input, layer.of.channels, windows));
            let (c, batch) = (Matrices::dense(result, outputs, windows), layer.of.images);
            let group_steps = [m * k, k * windows, m * windows];
            let gemm = Gemm::of(a, b, c, [m, windows, k]);
            return self.gemm(&Gemm { batch, groups, group_steps, ..gemm });
        }
        // The bias is one tap more of each group, of a pixel that is 1 in every window.
        let matrix = self.weight_matrix(weight, bias, [outputs, k])?;
        let k = k + usize::from(bias.is_some());
        for (of, part) in parts(layer, groups * k, MOST_COLUMNS) {
            let input = part.of(input, pixels(&of))?;
            let columns = self.columns(&input, &of, groups * k, Images::Apart)?;
            let to = part.of(result, outputs * windows)?;
            let (a, b) = (layer.weight(&matrix), columns.by_image());
            let (c, batch) = (Matrices::dense(&to, outputs, windows), of.images);
            let group_steps = [m * a.row, k * b.row, m * windows];
            let gemm = Gemm::of(a, b, c, [m, windows, k]);
            self.gemm(&Gemm { batch, groups, group_steps, ..gemm })?;
        }
        Ok(())
    }

    /// Computes the gradients of input and weight, each if memory for it is passed, with at most `most` elements of columns at a time.
    fn conv2d_grads(
        &self,
        [grad, input, weight]: [&Tensor; 3],
        [of_input, of_weight]: [Option<&Tensor>; 2],
        layer: &Layer,
        most: usize,
    ) -> Result {
        let ([m, k], groups) = (layer.product(), layer.of.config.groups);
        let (taps, outputs, windows) = (layer.of.taps(), layer.outputs, layer.of.windows());
        let matrix = |to| Ok::<_, Error>((to, self.weight_matrix(weight, None, [outputs, k])?));
        let wanted = of_input.map(matrix).transpose()?;
        let all: Vec<(Geometry, ImageRange)> = parts(layer, taps, most).collect();
        let sums = match all.len() {
            count if count > 1 && of_weight.is_some() => Some(self.sums(count, [outputs, k])?),
            _ => None,
        };
        for (number, (of, part)) in all.iter().enumerate() {
            let [g, x] = [(grad, outputs * windows), (input, pixels(of))]
                .map(|(tensor, each)| part.of(tensor, each));
            let (g, x) = (g?, x?);
            let by_output = self.by_output(&g, of, outputs)?;
            if let Some((to, matrix)) = &wanted {
                let to = part.of(to, pixels(of))?;
                if multiplies_images(layer, input.dtype()) {
                    self.conv2d_images([&g, matrix, &to], layer, of.images)?;
                } else {
                    self.conv2d_input(&by_output, [matrix, &to], layer, of)?;
                }
            }
            let Some(of_weight) = of_weight else { continue };
            let columns = match of.config.layout {
                ImageLayout::ChannelsLast if is_of_pixels(of) => Columns::of_pixels(x, of.channels),
                _ => self.columns(&x, of, taps, Images::Together)?,
            };
            let one = sums.as_ref().map(|sums| sums.matrix(number)).transpose()?;
            let whole = || Matrices::dense(of_weight, outputs, k);
            let c = one.as_ref().map_or_else(whole, Sums::matrices);
            let (a, b) = (by_output.whole(), columns.whole().transposed());
            let group_steps = [by_output.group_step(m), columns.group_step(k), m * c.row];
            let gemm = Gemm::of(a, b, c, [m, k, of.images * windows]);
            self.gemm(&Gemm { groups, group_steps, ..gemm })?;
        }
        if let (Some(sums), Some(of_weight)) = (sums, of_weight) {
            let to = Matrices::dense(of_weight, outputs, k);
            self.join(
                &JoinTarget { c: to, bias: None, relu: false, m: outputs, n: k, batch: 1 },
                &sums,
                all.len(),
            )?;
        }
        Ok(())
    }

    /// Computes `Wᵀ·grad` for each image, if that is the pixels' gradients already.
    fn conv2d_images(
        &self,
        [grad, weight, to]: [&Tensor; 3],
        layer: &Layer,
        batch: usize,
    ) -> Result {
        let ([m, k], groups) = (layer.product(), layer.of.config.groups);
        let (outputs, windows) = (layer.outputs, layer.of.windows());
        let (a, b) = (layer.weight(weight).transposed(), Matrices::dense(grad, outputs, windows));
        let c = Matrices::dense(to, layer.of.channels, windows);
        let group_steps = [m * a.row, m * windows, k * windows];
        let gemm = Gemm::of(a, b, c, [k, windows, m]);
        self.gemm(&Gemm { batch, groups, group_steps, ..gemm })
    }

    /// Computes `Wᵀ·grad`, in f32 until each pixel has been summed up.
    fn conv2d_input(
        &self,
        by_output: &Columns,
        [weight, to]: [&Tensor; 2],
        layer: &Layer,
        of: &Geometry,
    ) -> Result {
        let ([m, k], groups) = (layer.product(), of.config.groups);
        let n = of.images * of.windows();
        if to.is_empty() {
            return Ok(());
        }
        let (w, g) = (layer.weight(weight), by_output.whole());
        let is_last = of.config.layout == ImageLayout::ChannelsLast;
        let is_image = is_last && is_of_pixels(of);
        let columns = if is_image {
            Columns::of_pixels(to.clone(), of.channels)
        } else {
            self.unset_columns(DType::F32, of, of.taps(), Images::Together)?
        };
        let c = columns.whole();
        let [of_w, of_g, of_c] = [m * w.row, by_output.group_step(m), columns.group_step(k)];
        let gemm = if is_last {
            let gemm = Gemm::of(g.transposed(), w, c.transposed(), [n, k, m]);
            Gemm { groups, group_steps: [of_g, of_w, of_c], ..gemm }
        } else {
            let gemm = Gemm::of(w.transposed(), g, c, [k, n, m]);
            Gemm { groups, group_steps: [of_w, of_g, of_c], ..gemm }
        };
        self.gemm(&gemm)?;
        if is_image { Ok(()) } else { self.pixels(&columns, of, to) }
    }
}

/// Images of a batch, from the first on.
struct ImageRange {
    first: usize,
    images: usize,
}

impl ImageRange {
    /// Returns the elements of these images in a tensor that has `each` of each image.
    fn of(&self, tensor: &Tensor, each: usize) -> Result<Tensor> {
        tensor.slice(self.first * each, self.images * each)
    }
}

/// Returns the number of elements of one input image.
fn pixels(of: &Geometry) -> usize {
    of.channels * of.image[0] * of.image[1]
}

/// Returns true if each pixel is one window.
fn is_of_pixels(of: &Geometry) -> bool {
    let Conv2dConfig { stride, padding, .. } = of.config;
    [of.kernel, stride] == [[1, 1]; 2] && padding == [0, 0]
}

/// Returns true if each pixel is one window, and planes of images are multiplied in place. Planes of an odd number of 16-bit elements are
/// not: they would be read one by one.
fn multiplies_images(layer: &Layer, dtype: DType) -> bool {
    let is_first = layer.of.config.layout == ImageLayout::ChannelsFirst;
    is_first && is_of_pixels(&layer.of) && (layer.of.windows() * dtype.bytes()).is_multiple_of(4)
}

/// Returns the parts of the batch, as many images at a time as make columns of `rows` rows and at most `most` elements. The parts
/// follow from the shape. There is at least one, even of no images.
fn parts(layer: &Layer, rows: usize, most: usize) -> impl Iterator<Item = (Geometry, ImageRange)> {
    let all = layer.of;
    let step = (most / (rows * all.windows()).max(1)).max(1);
    (0..all.images.max(1)).step_by(step).map(move |first| {
        let images = step.min(all.images - first);
        (Geometry { images, ..all }, ImageRange { first, images })
    })
}

#[cfg(test)]
mod tests {
    use super::{super::gemm::tests::device, *};
    use binade_core::ops::{Download, OpInvocation, Upload};

    #[test]
    fn a_large_batch_is_cut_into_parts_that_have_every_image_once() {
        let (image, output, config) = ([1 << 12; 2], [1 << 12; 2], Conv2dConfig::default());
        let of = Geometry { images: 7, channels: 1, image, kernel: [1, 1], output, config };
        let cut: Vec<_> = parts(&Layer { of, outputs: 1 }, 2, MOST_COLUMNS).collect();
        let found = cut.iter().map(|(of, part)| (part.first, part.images, of.images));
        assert!(found.eq([(0, 2, 2), (2, 2, 2), (4, 2, 2), (6, 1, 1)]));
        let none = Layer { of: Geometry { images: 0, ..of }, outputs: 1 };
        assert!(
            parts(&none, 2, MOST_COLUMNS).map(|(_, part)| (part.first, part.images)).eq([(0, 0)])
        );
        let whole: Vec<_> =
            parts(&Layer { of, outputs: 1 }, 100, MOST_COLUMNS).map(|(of, _)| of.images).collect();
        assert_eq!(whole, [1; 7]);
    }

    /// Returns small multiples of 1/8, whose products have sums exact in f32.
    fn eighths(cuda: &Cuda, shape: &[usize], dtype: DType, seed: u64) -> Tensor {
        let mut random = fastrand::Rng::with_seed(seed);
        let values: Vec<f32> =
            (0..shape.iter().product()).map(|_| f32::from(random.i8(-8..=8)) / 8.0).collect();
        cuda.upload(&values, shape, dtype).unwrap()
    }

    #[test]
    fn gradients_in_parts_are_those_of_the_whole() {
        let Some(cuda) = device() else { return };
        let (stride, padding) = ([1, 2], [1, 0]);
        let config = Conv2dConfig { stride, padding, ..Conv2dConfig::default() };
        let layouts = [ImageLayout::ChannelsFirst, ImageLayout::ChannelsLast];
        for (dtype, layout) in
            [DType::F16, DType::F32].into_iter().flat_map(|it| layouts.map(|layout| (it, layout)))
        {
            let apart = Conv2dConfig { dilation: [2, 1], groups: 3, ..config };
            for (weight, config) in [
                ([4, 3, 2, 3], config),
                ([4, 3, 1, 1], Conv2dConfig::default()),
                ([6, 1, 2, 3], apart),
                ([6, 1, 1, 1], Conv2dConfig { groups: 3, ..Conv2dConfig::default() }),
            ] {
                let config = Conv2dConfig { layout, ..config };
                let input = eighths(&cuda, &layout.shape([5, 3, 4, 6]), dtype, 1);
                let weight = eighths(&cuda, &weight, dtype, 2);
                let operands = [(dtype, input.shape()), (dtype, weight.shape())];
                let call = OpInvocation::Conv2d { config };
                let shape = call.check(&operands).unwrap().shape;
                let grad = eighths(&cuda, &shape, dtype, 3);
                let layer = Layer::new(&input, &weight, &shape, config);
                let [o, c, kh, kw] = weight.shape().try_into().unwrap();
                let weight = weight.reshape(&layout.shape([o, c, kh, kw])).unwrap();
                let grads = |images: usize| {
                    let most = images * layer.of.taps() * layer.of.windows();
                    let all = [&grad, &input, &weight];
                    let of_input = cuda.unset(dtype, input.shape()).unwrap();
                    let of_weight = cuda.unset(dtype, weight.shape()).unwrap();
                    let to = [Some(&of_input), Some(&of_weight)];
                    cuda.conv2d_grads(all, to, &layer, most).unwrap();
                    [of_input, of_weight].map(|grad| cuda.download(&grad).unwrap())
                };
                let whole = grads(5);
                assert!(whole.iter().all(|grad| grad.iter().any(|value| *value != 0.0)));
                assert_eq!([grads(2), grads(1)], [whole.clone(), whole], "{dtype}");
            }
        }
    }
}
