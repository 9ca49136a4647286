//! Largest element of each window.

use super::operands::check;
use crate::{Cpu, Error, Tensor, parallel};
use binade_core::TensorSpec;
use binade_core::ops::{
    ImageLayout::{ChannelsFirst, ChannelsLast},
    MaxPool2d, MaxPool2dConfig, OpInvocation, channels_first, channels_last,
    shape::{self, Windows},
};

impl MaxPool2d for Cpu {
    fn max_pool2d(&self, input: &Tensor, config: MaxPool2dConfig) -> Result<Tensor, Error> {
        let call = OpInvocation::MaxPool2d { config };
        let TensorSpec { dtype, shape } = check(&call, &[input])?;
        if config.layout == ChannelsLast {
            let first = MaxPool2dConfig { layout: ChannelsFirst, ..config };
            return channels_last(self, &self.max_pool2d(&channels_first(self, input)?, first)?);
        }
        let (plane, x) = (Plane::new(input, &shape, config), input.to_f32());
        let mut out = vec![0.0; shape::element_count(&shape)];
        parallel::rows(&mut out, plane.windows(), plane.cost(), |first, block| {
            let images = x[first * plane.pixels()..].chunks_exact(plane.pixels());
            for (out, image) in block.chunks_exact_mut(plane.windows()).zip(images) {
                plane.each(image, |window, pixel| out[window] = image[pixel]);
            }
        });
        Tensor::from_f32(out, &shape, dtype)
    }

    fn max_pool2d_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        config: MaxPool2dConfig,
    ) -> Result<Tensor, Error> {
        let dtype = check(&OpInvocation::MaxPool2dBackward { config }, &[grad, input])?.dtype;
        if config.layout == ChannelsLast {
            let first = MaxPool2dConfig { layout: ChannelsFirst, ..config };
            let (g, x) = (channels_first(self, grad)?, channels_first(self, input)?);
            return channels_last(self, &self.max_pool2d_backward(&g, &x, first)?);
        }
        let (plane, x, g) =
            (Plane::new(input, grad.shape(), config), input.to_f32(), grad.to_f32());
        let mut dx = parallel::zeros(x.len());
        parallel::rows(&mut dx, plane.pixels(), plane.cost(), |first, block| {
            let images = x[first * plane.pixels()..].chunks_exact(plane.pixels());
            let grads = g[first * plane.windows()..].chunks_exact(plane.windows());
            for ((dx, image), g) in block.chunks_exact_mut(plane.pixels()).zip(images).zip(grads) {
                plane.each(image, |window, pixel| dx[pixel] += g[window]);
            }
        });
        Tensor::from_f32(dx, input.shape(), dtype)
    }
}

/// One channel of one image: its windows along rows and columns.
struct Plane([Windows; 2]);

impl Plane {
    /// Describes an input `[N, C, H, W]` and the shape of its result.
    fn new(input: &Tensor, shape: &[usize], config: MaxPool2dConfig) -> Self {
        let MaxPool2dConfig { kernel, stride, padding, .. } = config;
        Self([0, 1].map(|axis| {
            let extents = [input.shape()[axis + 2], shape[axis + 2]];
            Windows::sliding(extents, kernel[axis], stride[axis], padding[axis])
        }))
    }

    fn pixels(&self) -> usize {
        self.0[0].image * self.0[1].image
    }

    fn windows(&self) -> usize {
        self.0[0].count * self.0[1].count
    }

    /// Returns the cost of a plane: about one comparison for each element of each window.
    fn cost(&self) -> usize {
        self.windows() * self.0[0].length * self.0[1].length
    }

    /// Calls `visit(window, pixel)` with the index of each window's largest pixel.
    fn each(&self, image: &[f32], mut visit: impl FnMut(usize, usize)) {
        let [rows, columns] = &self.0;
        for row in 0..rows.count {
            for column in 0..columns.count {
                visit(row * columns.count + column, self.largest(image, row, column));
            }
        }
    }

    /// Returns the first largest pixel of a window, in row-major order, or its first NaN.
    fn largest(&self, image: &[f32], row: usize, column: usize) -> usize {
        let (ys, xs, width) = (self.0[0].span(row), self.0[1].span(column), self.0[1].image);
        let mut best = ys.start * width + xs.start;
        for y in ys {
            for pixel in y * width + xs.start..y * width + xs.end {
                let (x, largest) = (image[pixel], image[best]);
                // A NaN wins, and then stays: comparisons with it are false.
                if x > largest || (x.is_nan() && !largest.is_nan()) {
                    best = pixel;
                }
            }
        }
        best
    }
}
