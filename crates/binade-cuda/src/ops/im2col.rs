//! Windows of images as the columns of a matrix, or as its rows, and back.

use super::gemm::Matrices;
use crate::{
    Cuda, CudaError, Error, Result, Tensor,
    kernels::THREADS,
    launch::{
        Arg, Grid, MOST_BLOCKS, args, code,
        structs::{DivisorBits, GeometryBits, PixelsBits},
    },
};
use binade_core::{DType, ops::ImageLayout};
use binade_gpu::{Driver, Geometry};

/// Alignment of a matrix's rows in elements, so that products read whole chunks.
const CHUNK: usize = 8;

/// Number of elements of a line that one block processes; longer lines are split among blocks.
const SEGMENT: usize = 8 * THREADS as usize;

/// Greatest number of blocks of one line.
const MOST_SEGMENTS: usize = 64;

/// Returns the geometry as the kernel reads it, whose lines have `len` elements, and the grid over `lines` of them.
fn launched(of: &Geometry, lines: usize, len: usize) -> Result<(GeometryBits, Grid)> {
    let segments = len.div_ceil(SEGMENT).clamp(1, MOST_SEGMENTS);
    let at_once = lines.clamp(1, MOST_BLOCKS / segments);
    let Geometry { images, channels, image, kernel, output, config } = *of;
    let by = |extent| Ok::<_, Error>(DivisorBits::of(size(extent)?));
    let plane = |[rows, columns]: [usize; 2]| Ok::<_, Error>([size(rows)?, size(columns)?]);
    let bits = GeometryBits {
        images: size(images)?,
        channels: size(channels)?,
        image: plane(image)?,
        kernel: plane(kernel)?,
        output: plane(output)?,
        stride: plane(config.stride)?,
        padding: plane(config.padding)?,
        dilation: plane(config.dilation)?,
        groups: size(config.groups)?,
        segments: size(segments)?,
        by_windows: by(of.windows())?,
        by_columns: by(output[1])?,
        by_plane: by(image[0] * image[1])?,
        by_width: by(image[1])?,
        by_stride: [by(config.stride[0])?, by(config.stride[1])?],
    };
    size(lines)?;
    size(len)?;
    Ok((bits, Grid::of(segments * at_once)))
}

/// Returns the divisors of elements of images with the channels last, in lines of `line`.
fn by_pixel(of: &Geometry, line: usize) -> Result<PixelsBits> {
    let by = |extent| Ok::<_, Error>(DivisorBits::of(size(extent)?));
    let channels = of.channels / of.config.groups;
    Ok(PixelsBits { line: by(line)?, channels: by(channels)?, kernel_columns: by(of.kernel[1])? })
}

/// Returns an extent that kernels count in 32 bits, with room for the sum of two.
fn size(extent: usize) -> Result<u32> {
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

/// Windows of images as the columns of a matrix, or as the rows of one if the channels are last. Rows are whole chunks. Elements between
/// images, and behind the last one, are unset.
#[derive(Debug)]
pub(super) struct Columns {
    tensor: Tensor,
    pitch: usize,
    row: usize,
    /// True if each window is a row.
    by_window: bool,
}

impl Columns {
    /// Wraps images or results with the channels last, whose pixels are the windows, of `row` elements.
    pub(super) fn of_pixels(tensor: Tensor, row: usize) -> Self {
        Self { tensor, pitch: 0, row, by_window: true }
    }

    /// Returns all windows of images that lie together as one matrix, a column for each window.
    pub(super) fn whole(&self) -> Matrices<'_> {
        Matrices { tensor: &self.tensor, row: self.row, step: 0, transposed: self.by_window }
    }

    /// Returns the number of elements from one group to the next, of so many taps each.
    pub(super) fn group_step(&self, taps: usize) -> usize {
        if self.by_window { taps } else { taps * self.row }
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
    ) -> Result<Columns> {
        if of.config.layout == ImageLayout::ChannelsLast {
            let row = rows.next_multiple_of(CHUNK);
            let tensor = self.unset(dtype, &[of.images * of.windows(), row])?;
            return Ok(Columns::of_pixels(tensor, row));
        }
        let pitch = match images {
            Images::Together => of.windows(),
            Images::Apart => of.windows().next_multiple_of(CHUNK),
        };
        let row = (of.images * pitch).next_multiple_of(CHUNK);
        let tensor = self.unset(dtype, &[rows, row])?;
        Ok(Columns { tensor, pitch, row, by_window: false })
    }

    /// Returns the windows of images: for each group each of its taps, then ones up to its share of `rows`.
    pub(super) fn columns(
        &self,
        input: &Tensor,
        of: &Geometry,
        rows: usize,
        images: Images,
    ) -> Result<Columns> {
        let columns = self.unset_columns(input.dtype(), of, rows, images)?;
        let dtype = code("conv2d", input.dtype())?;
        if columns.by_window {
            if columns.tensor.is_empty() {
                return Ok(columns);
            }
            let (bits, grid) = launched(of, of.images * of.output[0], of.output[1] * rows)?;
            let (bits, by) = (Arg::Bytes(bytemuck::bytes_of(&bits)), by_pixel(of, rows)?);
            let by = Arg::Bytes(bytemuck::bytes_of(&by));
            let args = args![input, dtype, bits, by, size(columns.row)?, &columns.tensor];
            self.launch("im2col_last", grid, &args)?;
            return Ok(columns);
        }
        let (bits, grid) = launched(of, rows, of.images * of.windows())?;
        let bits = Arg::Bytes(bytemuck::bytes_of(&bits));
        let [rows, pitch, row] = [size(rows)?, size(columns.pitch)?, size(columns.row)?];
        let args = args![input, dtype, bits, rows, pitch, row, &columns.tensor];
        self.launch("im2col", grid, &args)?;
        Ok(columns)
    }

    /// Sums each pixel over the windows that contain it, from f32 windows of images together into `to`, the images.
    pub(super) fn pixels(&self, columns: &Columns, of: &Geometry, to: &Tensor) -> Result {
        let dtype = code("conv2d", to.dtype())?;
        if columns.by_window {
            let (lines, len) = (of.images * of.image[0], of.image[1] * of.channels);
            let (bits, grid) = launched(of, lines, len)?;
            let (bits, by) = (Arg::Bytes(bytemuck::bytes_of(&bits)), by_pixel(of, of.channels)?);
            let by = Arg::Bytes(bytemuck::bytes_of(&by));
            let args = args![&columns.tensor, bits, by, size(columns.row)?, to, dtype];
            return self.launch("col2im_last", grid, &args);
        }
        let pixels = of.images * of.image[0] * of.image[1];
        let (bits, grid) = launched(of, of.channels, pixels)?;
        let bits = Arg::Bytes(bytemuck::bytes_of(&bits));
        let args = args![&columns.tensor, bits, size(columns.row)?, to, dtype];
        self.launch("col2im", grid, &args)
    }

    /// Returns the weight as a matrix `[outputs, padded_taps]` for the product. The bias, if any, is the column after the last
    /// tap. Rows are padded with zeros to whole chunks. Returns the weight itself if it is that already.
    pub(super) fn weight_matrix(
        &self,
        weight: &Tensor,
        bias: Option<&Tensor>,
        [outputs, taps]: [usize; 2],
    ) -> Result<Tensor> {
        let rows = (taps + usize::from(bias.is_some())).next_multiple_of(CHUNK);
        if rows == taps {
            return weight.reshape(&[outputs, taps]);
        }
        let matrix = self.unset(weight.dtype(), &[outputs, rows])?;
        let (dtype, extents) = (code("conv2d", weight.dtype())?, [outputs, taps, rows].map(size));
        let [lines, taps, rows] = extents;
        let args = args![weight, bias, dtype, lines?, taps?, rows?, &matrix];
        self.launch("im2col_weight", Grid::of(outputs), &args)?;
        Ok(matrix)
    }

    /// Returns the gradient of a result as the matrix of windows of one pixel, a row for each output or, if the channels are last, for
    /// each window: the gradient itself.
    pub(super) fn by_output(
        &self,
        grad: &Tensor,
        of: &Geometry,
        outputs: usize,
    ) -> Result<Columns> {
        if of.config.layout == ImageLayout::ChannelsLast {
            return Ok(Columns::of_pixels(grad.clone(), outputs));
        }
        let of = Geometry::of_pixels(of.images, outputs, of.windows());
        self.columns(grad, &of, outputs, Images::Together)
    }
}
