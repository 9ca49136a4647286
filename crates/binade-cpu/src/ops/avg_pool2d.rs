//! Mean of each window, for sliding and adaptive windows.

use super::operands::check;
use crate::{
    Cpu, Error, Tensor, parallel,
    reduce::{count, round, run},
};
use binade_core::TensorSpec;
use binade_core::ops::{
    AvgPool2d, AvgPool2dConfig,
    ImageLayout::{ChannelsFirst, ChannelsLast},
    OpInvocation, channels_first, channels_last,
    shape::{self, Pooling},
};
use std::ops::Range;

impl AvgPool2d for Cpu {
    fn avg_pool2d(&self, input: &Tensor, config: AvgPool2dConfig) -> Result<Tensor, Error> {
        let spec = check(&OpInvocation::AvgPool2d { config }, &[input])?;
        if config.layout == ChannelsLast {
            let first = AvgPool2dConfig { layout: ChannelsFirst, ..config };
            return channels_last(self, &self.avg_pool2d(&channels_first(self, input)?, first)?);
        }
        let pooling = Pooling::sliding(input.shape(), &spec.shape, config);
        Planes(pooling).forward(input, &spec)
    }

    fn avg_pool2d_backward(
        &self,
        grad: &Tensor,
        shape: &[usize],
        config: AvgPool2dConfig,
    ) -> Result<Tensor, Error> {
        let call = OpInvocation::AvgPool2dBackward { shape: shape.to_vec(), config };
        let spec = check(&call, &[grad])?;
        if config.layout == ChannelsLast {
            let first = AvgPool2dConfig { layout: ChannelsFirst, ..config };
            let extents = config.layout.extents(shape).unwrap_or_default();
            let g = channels_first(self, grad)?;
            return channels_last(self, &self.avg_pool2d_backward(&g, &extents, first)?);
        }
        Planes(Pooling::sliding(shape, grad.shape(), config)).backward(grad, &spec)
    }
}

/// Channels of images, each pooled by the same windows.
pub(super) struct Planes(pub(super) Pooling);

impl Planes {
    /// Returns the means, a tensor of this type and shape.
    pub(super) fn forward(&self, input: &Tensor, to: &TensorSpec) -> Result<Tensor, Error> {
        let [pixels, windows] = self.extents();
        let x = input.to_f32();
        let mut out = vec![0.0; shape::element_count(&to.shape)];
        parallel::rows(&mut out, windows, self.cost(), |first, block| {
            let images = x[first * pixels..].chunks_exact(pixels);
            for (out, image) in block.chunks_exact_mut(windows).zip(images) {
                self.each(|window, divisor, spans| {
                    let sum: f64 = self.lines(spans).map(|line| run(&image[line], f64::from)).sum();
                    out[window] = round(sum / divisor);
                });
            }
        });
        Tensor::from_f32(out, &to.shape, to.dtype)
    }

    /// Returns the gradient of the images, a tensor of this type and shape.
    pub(super) fn backward(&self, grad: &Tensor, to: &TensorSpec) -> Result<Tensor, Error> {
        let [pixels, windows] = self.extents();
        let g = grad.to_f32();
        let mut dx = parallel::zeros(shape::element_count(&to.shape));
        parallel::rows(&mut dx, pixels, self.cost(), |first, block| {
            let grads = g[first * windows..].chunks_exact(windows);
            for (dx, g) in block.chunks_exact_mut(pixels).zip(grads) {
                self.each(|window, divisor, spans| {
                    let share = round(f64::from(g[window]) / divisor);
                    for line in self.lines(spans) {
                        dx[line].iter_mut().for_each(|dx| *dx += share);
                    }
                });
            }
        });
        Tensor::from_f32(dx, &to.shape, to.dtype)
    }

    /// Returns the number of elements of a plane of the images, and of the result.
    fn extents(&self) -> [usize; 2] {
        let [rows, columns] = &self.0.windows;
        [rows.image * columns.image, rows.count * columns.count]
    }

    /// Returns the cost of a plane: about one addition for each element of each window.
    fn cost(&self) -> usize {
        let length =
            |axis: usize| self.0.windows[axis].length.div_ceil(self.0.windows[axis].step[1]);
        self.extents()[1].saturating_mul(length(0)).saturating_mul(length(1))
    }

    /// Calls `visit(window, divisor, spans)` for each window in row-major order, with the rows and columns that it covers.
    fn each(&self, mut visit: impl FnMut(usize, f64, [Range<usize>; 2])) {
        let [rows, columns] = &self.0.windows;
        for row in 0..rows.count {
            for column in 0..columns.count {
                let spans = [rows.span(row), columns.span(column)];
                let elements = spans[0].len() * spans[1].len();
                let divisor = count(self.0.divisor.unwrap_or(elements));
                visit(row * columns.count + column, divisor, spans);
            }
        }
    }

    /// Returns the elements of a window, row by row.
    fn lines(&self, [rows, columns]: [Range<usize>; 2]) -> impl Iterator<Item = Range<usize>> {
        let width = self.0.windows[1].image;
        rows.map(move |row| row * width + columns.start..row * width + columns.end)
    }
}
