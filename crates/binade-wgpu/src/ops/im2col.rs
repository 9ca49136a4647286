//! Windows of images as the columns of a matrix, and back.

use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        GROUP, groups,
        structs::{self, code, count},
    },
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use binade_core::DType;
use binade_gpu::Driver;
use binade_ops::Conv2dConfig;

pub(super) const SHADERS: &[&Shader] = &[&CONV2D_COLUMNS, &CONV2D_PIXELS];

const CONV2D_COLUMNS: Shader = Shader {
    name: "conv2d_columns",
    file: "conv2d",
    params: size_of::<structs::Convolution>(),
    bindings: &[(1, Read), (3, Write)],
};
const CONV2D_PIXELS: Shader = Shader { name: "conv2d_pixels", ..CONV2D_COLUMNS };

/// Batch of equal convolutions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    pub(super) images: usize,
    pub(super) channels: usize,
    pub(super) image: [usize; 2],
    pub(super) kernel: [usize; 2],
    pub(super) output: [usize; 2],
    pub(super) config: Conv2dConfig,
}

impl Geometry {
    /// Returns the number of elements of one window: rows of the matrix.
    pub(super) fn taps(&self) -> usize {
        self.channels * self.kernel[0] * self.kernel[1]
    }

    /// Returns the number of windows of one image.
    pub(super) fn windows(&self) -> usize {
        self.output[0] * self.output[1]
    }

    fn params(&self, from: (&Tensor, u32), to: &Tensor) -> Result<structs::Convolution, Error> {
        Ok(structs::Convolution {
            len: count(to.len()),
            dtype: code("conv2d", from.0.dtype())?,
            starts: [from.1, 0],
            to: code("conv2d", to.dtype())?,
            images: count(self.images),
            channels: count(self.channels),
            image: self.image.map(count),
            kernel: self.kernel.map(count),
            output: self.output.map(count),
            stride: self.config.stride.map(count),
            padding: self.config.padding.map(count),
        })
    }
}

impl Wgpu {
    /// Returns the windows of images as `[taps, images · windows]`.
    pub(super) fn columns(&self, input: &Tensor, of: &Geometry) -> Result<Tensor, Error> {
        let result = self.unset(input.dtype(), &[of.taps(), of.images * of.windows()])?;
        self.moved(&CONV2D_COLUMNS, input, of, result)
    }

    /// Sums each pixel over the windows that contain it, from f32 `[taps, images · windows]`.
    pub(super) fn pixels(
        &self,
        matrix: &Tensor,
        of: &Geometry,
        shape: &[usize],
        dtype: DType,
    ) -> Result<Tensor, Error> {
        let result = self.unset(dtype, shape)?;
        self.moved(&CONV2D_PIXELS, matrix, of, result)
    }

    fn moved(
        &self,
        shader: &'static Shader,
        from: &Tensor,
        of: &Geometry,
        to: Tensor,
    ) -> Result<Tensor, Error> {
        if !to.is_empty() {
            let ((input, start), (output, _)) = (self.whole(from)?, self.whole(&to)?);
            let params = of.params((from, start), &to)?;
            let groups = groups(to.len().div_ceil(GROUP));
            self.dispatch(shader, &params, vec![input, output], groups)?;
        }
        Ok(to)
    }
}
