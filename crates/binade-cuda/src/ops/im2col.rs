//! Windows of images as the columns of a matrix, and back.

use super::rows::{MOST_BLOCKS, blocks};
use crate::{
    Cuda, Error, Tensor,
    autocast::code,
    kernels::{Kernel, THREADS, ptx},
    launch::{
        Arg, Grid,
        Param::{self, Address, Bytes, U32},
        structs::GeometryBits,
    },
};
use binade_ops::Conv2dConfig;

pub(super) const KERNELS: &[&Kernel] = &[&COL2IM, &IM2COL, &IM2COL_WEIGHT];

const GEOMETRY: Param = Bytes(size_of::<GeometryBits>());

const COL2IM: Kernel =
    Kernel { name: "col2im", ptx: ptx!("im2col"), params: &[Address, GEOMETRY, Address, U32] };
const IM2COL: Kernel =
    Kernel { name: "im2col", ptx: ptx!("im2col"), params: &[Address, U32, GEOMETRY, U32, Address] };
const IM2COL_WEIGHT: Kernel = Kernel {
    name: "im2col_weight",
    ptx: ptx!("im2col"),
    params: &[Address, Address, U32, U32, U32, U32, Address],
};

/// Elements of a line that a block takes in one go before another helps.
const SEGMENT: usize = 8 * THREADS as usize;

/// Blocks of one line at most.
const MOST_SEGMENTS: usize = 64;

/// A batch of equal convolutions.
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
    /// Elements of one window: rows of the matrix.
    pub(super) fn taps(&self) -> usize {
        self.channels * self.kernel[0] * self.kernel[1]
    }

    /// Windows of one image.
    pub(super) fn windows(&self) -> usize {
        self.output[0] * self.output[1]
    }

    /// As the kernel has it, whose lines are of `len` elements; and the grid over `lines` of them.
    fn launched(&self, lines: usize, len: usize) -> Result<(GeometryBits, Grid), Error> {
        let segments = len.div_ceil(SEGMENT).clamp(1, MOST_SEGMENTS);
        let at_once = lines.clamp(1, MOST_BLOCKS / segments);
        let (stride, padding) = (self.config.stride, self.config.padding);
        let bits = GeometryBits {
            images: size(self.images)?,
            channels: size(self.channels)?,
            image: [size(self.image[0])?, size(self.image[1])?],
            kernel: [size(self.kernel[0])?, size(self.kernel[1])?],
            output: [size(self.output[0])?, size(self.output[1])?],
            stride: [size(stride[0])?, size(stride[1])?],
            padding: [size(padding[0])?, size(padding[1])?],
            segments: size(segments)?,
            pad: 0,
        };
        size(len)?;
        Ok((bits, blocks(segments * at_once)))
    }
}

/// Extents that kernels count in 32 bits, with room for the sum of two.
fn size(extent: usize) -> Result<u32, Error> {
    let fits = u32::try_from(extent).ok().filter(|extent| *extent < 1 << 30);
    fits.ok_or_else(|| Error::TooLarge { what: "a convolution", sizes: vec![extent] })
}

impl Cuda {
    /// The windows of images as `[rows, images · windows]`: taps, a row of ones, and rows of zeros, as far as `rows` goes.
    pub(super) fn columns(
        &self,
        input: &Tensor,
        of: &Geometry,
        rows: usize,
    ) -> Result<Tensor, Error> {
        let len = of.images * of.windows();
        let (bits, grid) = of.launched(rows, len)?;
        let matrix = self.unset(input.dtype(), &[rows, len])?;
        let args = [
            Arg::Address(input.address()),
            Arg::U32(code("conv2d", input.dtype())?),
            Arg::Bytes(bytemuck::bytes_of(&bits)),
            Arg::U32(size(rows)?),
            Arg::Address(matrix.address()),
        ];
        self.launch(&IM2COL, grid, &args)?;
        Ok(matrix)
    }

    /// Each pixel's sum over the windows that it lies in: from f32 `[taps, images · windows]` into `to`, the images.
    pub(super) fn pixels(&self, matrix: &Tensor, of: &Geometry, to: &Tensor) -> Result<(), Error> {
        let (bits, grid) = of.launched(of.channels, of.images * of.image[0] * of.image[1])?;
        size(of.images * of.windows())?;
        let args = [
            Arg::Address(matrix.address()),
            Arg::Bytes(bytemuck::bytes_of(&bits)),
            Arg::Address(to.address()),
            Arg::U32(code("conv2d", to.dtype())?),
        ];
        self.launch(&COL2IM, grid, &args)
    }

    /// The weight `[outputs, taps]` as `[outputs, rows]`: the bias or a zero behind the taps, then zeros.
    pub(super) fn weight_matrix(
        &self,
        weight: &Tensor,
        bias: Option<&Tensor>,
        [outputs, taps, rows]: [usize; 3],
    ) -> Result<Tensor, Error> {
        let matrix = self.unset(weight.dtype(), &[outputs, rows])?;
        let args = [
            Arg::Address(weight.address()),
            Arg::Address(bias.map_or(0, Tensor::address)),
            Arg::U32(code("conv2d", weight.dtype())?),
            Arg::U32(size(outputs)?),
            Arg::U32(size(taps)?),
            Arg::U32(size(rows)?),
            Arg::Address(matrix.address()),
        ];
        self.launch(&IM2COL_WEIGHT, blocks(outputs), &args)?;
        Ok(matrix)
    }

    /// `[images, outputs, windows]` as `[outputs, images · windows]`: the columns of windows of one pixel.
    pub(super) fn by_output(
        &self,
        grad: &Tensor,
        [images, outputs, windows]: [usize; 3],
    ) -> Result<Tensor, Error> {
        let (config, image) = (Conv2dConfig::default(), [1, windows]);
        let (kernel, output) = ([1, 1], image);
        let of = Geometry { images, channels: outputs, image, kernel, output, config };
        self.columns(grad, &of, outputs)
    }
}
