//! Largest element of each window.

use super::operands::check;
use crate::{Cpu, Error, Tensor, parallel};
use binade_core::TensorSpec;
use binade_core::ops::{MaxPool2d, MaxPool2dConfig, OpInvocation, shape};
use std::ops::Range;

impl MaxPool2d for Cpu {
    fn max_pool2d(&self, input: &Tensor, config: MaxPool2dConfig) -> Result<Tensor, Error> {
        let call = OpInvocation::MaxPool2d { config };
        let TensorSpec { dtype, shape } = check(&call, &[input])?;
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

/// One channel of one image.
struct Plane {
    image: [usize; 2],
    output: [usize; 2],
    config: MaxPool2dConfig,
}

impl Plane {
    /// Describes an input `[N, C, H, W]` and the shape of its result.
    fn new(input: &Tensor, shape: &[usize], config: MaxPool2dConfig) -> Self {
        let image = [input.shape()[2], input.shape()[3]];
        Self { image, output: [shape[2], shape[3]], config }
    }

    fn pixels(&self) -> usize {
        self.image[0] * self.image[1]
    }

    fn windows(&self) -> usize {
        self.output[0] * self.output[1]
    }

    /// Returns the cost of a plane: about one comparison for each element of each window.
    fn cost(&self) -> usize {
        self.windows() * self.config.kernel[0] * self.config.kernel[1]
    }

    /// Calls `visit(window, pixel)` with the index of each window's largest pixel.
    fn each(&self, image: &[f32], mut visit: impl FnMut(usize, usize)) {
        for row in 0..self.output[0] {
            for column in 0..self.output[1] {
                visit(row * self.output[1] + column, self.largest(image, row, column));
            }
        }
    }

    /// Returns the first largest pixel of a window, in row-major order, or its first NaN.
    fn largest(&self, image: &[f32], row: usize, column: usize) -> usize {
        let (ys, xs) = (self.span(0, row), self.span(1, column));
        let mut best = ys.start * self.image[1] + xs.start;
        for y in ys {
            for pixel in y * self.image[1] + xs.start..y * self.image[1] + xs.end {
                let (x, largest) = (image[pixel], image[best]);
                // A NaN wins, and then stays: comparisons with it are false.
                if x > largest || (x.is_nan() && !largest.is_nan()) {
                    best = pixel;
                }
            }
        }
        best
    }

    /// Returns the part of the image that a window covers along an axis. It is never empty: padding is at most half a window.
    fn span(&self, axis: usize, position: usize) -> Range<usize> {
        let (start, padding) = (position * self.config.stride[axis], self.config.padding[axis]);
        let end = start + self.config.kernel[axis] - padding;
        start.saturating_sub(padding)..end.min(self.image[axis])
    }
}
