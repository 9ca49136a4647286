//! Windows of images as the columns of a matrix, and back.

use super::{
    gemm::Matrices,
    rows::{MOST_BLOCKS, blocks},
};
use crate::{
    Cuda, CudaError, Error, Tensor,
    autocast::code,
    kernels::{Kernel, THREADS},
    launch::{
        Arg, Grid,
        Param::{self, Address, Bytes, U32},
        structs::{DivisorBits, GeometryBits},
    },
};
use binade_core::DType;
use binade_gpu::Driver;
use binade_ops::Conv2dConfig;

pub(super) const KERNELS: &[&Kernel] = &[&COL2IM, &IM2COL, &IM2COL_WEIGHT];

const GEOMETRY: Param = Bytes(size_of::<GeometryBits>());

const COL2IM: Kernel =
    Kernel { name: "col2im", module: "im2col", params: &[Address, GEOMETRY, U32, Address, U32] };
const IM2COL: Kernel = Kernel {
    name: "im2col",
    module: "im2col",
    params: &[Address, U32, GEOMETRY, U32, U32, U32, Address],
};
const IM2COL_WEIGHT: Kernel = Kernel {
    name: "im2col_weight",
    module: "im2col",
    params: &[Address, Address, U32, U32, U32, U32, Address],
};

/// Number of elements that a matrix's rows begin at a multiple of, so that products read them in whole chunks.
const CHUNK: usize = 8;

/// Number of elements of a line that a block takes before another block helps.
const SEGMENT: usize = 8 * THREADS as usize;

/// Greatest number of blocks of one line.
const MOST_SEGMENTS: usize = 64;

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

    /// Returns true if each pixel is one window, so that images are their own columns.
    pub(super) fn is_pixels(&self) -> bool {
        self.kernel == [1, 1] && self.config == Conv2dConfig::default()
    }

    /// Returns the geometry as the kernel reads it, whose lines have `len` elements, and the grid over `lines` of them.
    fn launched(&self, lines: usize, len: usize) -> Result<(GeometryBits, Grid), Error> {
        let segments = len.div_ceil(SEGMENT).clamp(1, MOST_SEGMENTS);
        let at_once = lines.clamp(1, MOST_BLOCKS / segments);
        let (stride, padding) = (self.config.stride, self.config.padding);
        let by = |extent| Ok::<_, Error>(DivisorBits::of(size(extent)?));
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
            by_windows: by(self.windows())?,
            by_columns: by(self.output[1])?,
            by_plane: by(self.image[0] * self.image[1])?,
            by_width: by(self.image[1])?,
            by_stride: [by(stride[0])?, by(stride[1])?],
        };
        size(len)?;
        Ok((bits, blocks(segments * at_once)))
    }
}

/// Returns an extent that kernels count in 32 bits, with room for the sum of two.
fn size(extent: usize) -> Result<u32, Error> {
    let fits = u32::try_from(extent).ok().filter(|extent| *extent < 1 << 30);
    fits.ok_or_else(|| {
        Error::Driver(CudaError::TooLarge { what: "a convolution", sizes: vec![extent] })
    })
}

/// Arrangement of the images' windows in a row of their matrix.
#[derive(Clone, Copy, Debug)]
pub(super) enum Images {
    /// One image's windows right behind the other's, so that all of them are one matrix.
    Together,
    /// Each image's windows at a chunk of their own, so that each image is a matrix.
    Apart,
}

/// Windows of images as the columns of a matrix, whose rows are whole chunks. Elements between images, and behind the last one,
/// are unset.
#[derive(Debug)]
pub(super) struct Columns {
    tensor: Tensor,
    pitch: usize,
    row: usize,
}

impl Columns {
    /// Returns all windows of images that lie together as one matrix.
    pub(super) fn whole(&self) -> Matrices<'_> {
        Matrices { tensor: &self.tensor, row: self.row, step: 0, transposed: false }
    }

    /// Returns a matrix for each image.
    pub(super) fn by_image(&self) -> Matrices<'_> {
        Matrices { step: self.pitch, ..self.whole() }
    }
}

impl Cuda {
    /// Allocates columns for the windows of images, unset.
    pub(super) fn unset_columns(
        &self,
        dtype: DType,
        of: &Geometry,
        rows: usize,
        images: Images,
    ) -> Result<Columns, Error> {
        let pitch = match images {
            Images::Together => of.windows(),
            Images::Apart => of.windows().next_multiple_of(CHUNK),
        };
        let row = (of.images * pitch).next_multiple_of(CHUNK);
        Ok(Columns { tensor: self.unset(dtype, &[rows, row])?, pitch, row })
    }

    /// Returns the windows of images: a row for each tap, then rows of ones up to `rows`.
    pub(super) fn columns(
        &self,
        input: &Tensor,
        of: &Geometry,
        rows: usize,
        images: Images,
    ) -> Result<Columns, Error> {
        let (bits, grid) = of.launched(rows, of.images * of.windows())?;
        let columns = self.unset_columns(input.dtype(), of, rows, images)?;
        let args = [
            Arg::Address(input.address()),
            Arg::U32(code("conv2d", input.dtype())?),
            Arg::Bytes(bytemuck::bytes_of(&bits)),
            Arg::U32(size(rows)?),
            Arg::U32(size(columns.pitch)?),
            Arg::U32(size(columns.row)?),
            Arg::Address(columns.tensor.address()),
        ];
        self.launch(&IM2COL, grid, &args)?;
        Ok(columns)
    }

    /// Sums each pixel over the windows that contain it, from f32 columns of images together into `to`, the images.
    pub(super) fn pixels(
        &self,
        columns: &Columns,
        of: &Geometry,
        to: &Tensor,
    ) -> Result<(), Error> {
        let (bits, grid) = of.launched(of.channels, of.images * of.image[0] * of.image[1])?;
        let args = [
            Arg::Address(columns.tensor.address()),
            Arg::Bytes(bytemuck::bytes_of(&bits)),
            Arg::U32(size(columns.row)?),
            Arg::Address(to.address()),
            Arg::U32(code("conv2d", to.dtype())?),
        ];
        self.launch(&COL2IM, grid, &args)
    }

    /// Returns the weight as a matrix `[outputs, padded_taps]` for the product. The bias, if any, is the column after the last
    /// tap. Rows are padded with zeros to whole chunks. Returns the weight itself if it is that already.
    pub(super) fn weight_matrix(
        &self,
        weight: &Tensor,
        bias: Option<&Tensor>,
        [outputs, taps]: [usize; 2],
    ) -> Result<Tensor, Error> {
        let rows = (taps + usize::from(bias.is_some())).next_multiple_of(CHUNK);
        if rows == taps {
            return weight.reshape(&[outputs, taps]);
        }
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

    /// Returns `[images, outputs, windows]` as `[outputs, images · windows]`: the columns of windows of one pixel.
    pub(super) fn by_output(
        &self,
        grad: &Tensor,
        [images, outputs, windows]: [usize; 3],
    ) -> Result<Columns, Error> {
        let (config, image) = (Conv2dConfig::default(), [1, windows]);
        let (kernel, output) = ([1, 1], image);
        let of = Geometry { images, channels: outputs, image, kernel, output, config };
        self.columns(grad, &of, outputs, Images::Together)
    }
}
