//! Windows of an image as the columns of a matrix, so that convolution is a matrix product.

use binade_core::ops::Conv2dConfig;

/// Extents of one image's convolution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    pub(super) channels: usize,
    pub(super) image: [usize; 2],
    pub(super) kernel: [usize; 2],
    pub(super) output: [usize; 2],
    pub(super) config: Conv2dConfig,
}

impl Geometry {
    /// Returns the number of elements of one input image.
    pub(super) fn pixels(&self) -> usize {
        self.channels * self.image[0] * self.image[1]
    }

    /// Returns the number of elements of one window: the rows of the matrix.
    pub(super) fn taps(&self) -> usize {
        self.channels * self.kernel[0] * self.kernel[1]
    }

    /// Returns the number of windows of one image: the columns of the matrix.
    pub(super) fn windows(&self) -> usize {
        self.output[0] * self.output[1]
    }

    /// Calls `visit(column, pixel, length)` for each run of elements that are neighbours in matrix and image alike. `column` is
    /// an index into the matrix, with steps of 1, `pixel` one into the image, with steps of the horizontal stride. Elements in
    /// the padding are not visited.
    fn stretches(&self, mut visit: impl FnMut(usize, usize, usize)) {
        let ([height, width], [rows, columns]) = (self.image, self.output);
        let Conv2dConfig { stride, padding, dilation, .. } = self.config;
        for tap in 0..self.taps() {
            let (kx, ky) = (tap % self.kernel[1], tap / self.kernel[1] % self.kernel[0]);
            let (kx, ky) = (kx * dilation[1], ky * dilation[0]);
            let channel = tap / (self.kernel[0] * self.kernel[1]);
            let across = inside(kx, width, columns, stride[1], padding[1]);
            if across.is_empty() {
                continue;
            }
            for row in inside(ky, height, rows, stride[0], padding[0]) {
                let y = row * stride[0] + ky - padding[0];
                let x = across.start * stride[1] + kx - padding[1];
                let column = (tap * rows + row) * columns + across.start;
                visit(column, (channel * height + y) * width + x, across.len());
            }
        }
    }

    /// Writes the windows of `image` into `matrix`, [taps, windows], whose padding is zero already and stays so.
    pub(super) fn gather(&self, image: &[f32], matrix: &mut [f32]) {
        let stride = self.config.stride[1];
        self.stretches(|column, pixel, length| {
            let to = &mut matrix[column..column + length];
            let from = image[pixel..].iter().step_by(stride);
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        });
    }

    /// Adds each element of `matrix` to the element of `image` that it came from.
    pub(super) fn scatter(&self, matrix: &[f32], image: &mut [f32]) {
        let stride = self.config.stride[1];
        self.stretches(|column, pixel, length| {
            let to = image[pixel..].iter_mut().step_by(stride);
            to.zip(&matrix[column..column + length]).for_each(|(to, from)| *to += from);
        });
    }
}

/// Returns the positions along an axis where the element that is `k` behind the window's first lies inside the image:
/// `0 ≤ i·stride + k − padding < extent`.
fn inside(
    k: usize,
    extent: usize,
    positions: usize,
    stride: usize,
    padding: usize,
) -> std::ops::Range<usize> {
    let first = padding.saturating_sub(k).div_ceil(stride);
    let end = (extent + padding).saturating_sub(k).div_ceil(stride).min(positions);
    first..end.max(first)
}
