//! Products of long sums and few tiles: K is cut into ranges, whose sums are stored side by side and then added in order.

use super::{
    gemm::{Matrices, least, size},
    products::Kernels,
    rows::{MOST_BLOCKS, blocks},
};
use crate::{
    Cuda, Result, Tensor,
    kernels::{GROUP, THREADS, code},
    launch::{Arg, args, structs::ProductBits},
};
use binade_core::DType;
use binade_gpu::Driver;
use bytemuck::Zeroable;

/// Least number of terms of a range: fewer are done before another launch, which adds ranges up, has begun.
const LEAST: usize = 512;

/// Number of terms that ranges are cut at multiples of: a tile of 16-bit operands has as many terms, one of f32 half of them.
const DEEP: usize = 32;

/// Returns the number of ranges that K is cut into for products of `m` by `n` with this number of tiles. It follows from shape,
/// element type and the GPU's generation, and not from the number of multiprocessors, so that a generation has one result.
///
/// The ranges are as many as fill a large GPU once, [`Kernels::room`]. Products of more tiles than half of that are not cut, such
/// as large square ones and the layers of a wide model. The ranges are also no more than keep the traffic small. For a range a
/// tile of `rows · columns` reads `(rows + columns) · terms` elements and leaves `rows · columns` sums, of 4 bytes, which are
/// read once more. With `LEAST` or more terms, the 8 bytes of each sum are at most a third of the bytes read for them. The sums
/// take at most `room · rows · columns · 4` bytes of memory, 17 MB, for each pair if `by_pair`.
///
/// If each product has the bits that it has alone, `by_pair`, the batch does not count, though it may fill the GPU already. Sums
/// are then at most an eighth of a whole product's operands, so that cutting costs little in that case.
///
/// These are estimates; nothing has been measured.
pub(super) fn ranges(
    tile: &Kernels,
    tiles: usize,
    [m, n, k]: [usize; 3],
    dtype: DType,
    by_pair: bool,
) -> usize {
    let (sums, lines) = (tile.rows * tile.columns, tile.rows + tile.columns);
    let least = (3 * 8 * sums / (lines * dtype.bytes())).max(LEAST);
    let operands = (m + n) * k * dtype.bytes();
    let cheap = if by_pair { operands / (8 * 8 * m * n).max(1) } else { usize::MAX };
    let wanted = (tile.room / tiles.max(1)).min(k / least).min(cheap).max(1);
    // All ranges but the last are equally long, and none is empty.
    let deep = k.div_ceil(DEEP).max(1);
    deep.div_ceil(deep.div_ceil(wanted))
}

/// Matrices of f32 sums, one after the other, whose rows are whole groups, as `matmul_join` reads them.
#[derive(Debug)]
pub(super) struct Sums {
    tensor: Tensor,
    row: usize,
    step: usize,
}

impl Sums {
    /// Returns all matrices of sums.
    pub(super) fn matrices(&self) -> Matrices<'_> {
        Matrices { tensor: &self.tensor, row: self.row, step: self.step, transposed: false }
    }

    /// Returns the matrix with this number, as memory of its own.
    pub(super) fn one(&self, number: usize) -> Result<Self> {
        Ok(Self { tensor: self.tensor.slice(number * self.step, self.step)?, ..*self })
    }
}

/// Target of joined sums, with the fields of [`Gemm`].
#[derive(Clone, Copy, Debug)]
pub(super) struct JoinTarget<'a> {
    pub(super) c: Matrices<'a>,
    pub(super) bias: Option<&'a Tensor>,
    pub(super) relu: bool,
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) batch: usize,
}

impl Cuda {
    /// Allocates `count` matrices of sums, unset.
    pub(super) fn sums(&self, count: usize, [m, n]: [usize; 2]) -> Result<Sums> {
        let row = n.next_multiple_of(GROUP);
        let step = m * row;
        Ok(Sums { tensor: self.unset(DType::F32, &[count, step])?, row, step })
    }

    /// Adds the sums of each product's ranges, in order, and its bias, applies `ReLU` if asked for, and rounds once.
    pub(super) fn join(&self, to: &JoinTarget<'_>, sums: &Sums, ranges: usize) -> Result {
        let JoinTarget { c, bias, relu, m, n, batch } = *to;
        let dtype = bias.map_or(c.tensor.dtype(), Tensor::dtype);
        let size = |extent| size(extent, [batch, m, n, ranges]);
        let product = ProductBits {
            bias: bias.map_or(0, Tensor::address),
            c: c.tensor.address(),
            c_step: c.step as u64,
            c_row: c.row as u64,
            m: size(m)?,
            n: size(n)?,
            dtype: code("multiply matrices of", dtype)?,
            c_dtype: code("multiply matrices into", c.tensor.dtype())?,
            ranges: size(ranges)?,
            least: least(relu),
            ..ProductBits::zeroed()
        };
        let groups = batch * sums.step / GROUP;
        let grid = blocks(groups.div_ceil(THREADS as usize).clamp(1, MOST_BLOCKS));
        let args = args![Arg::Bytes(bytemuck::bytes_of(&product)), &sums.tensor, size(batch)?];
        self.launch("matmul_join", grid, &args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::products::{OF_BF16_80, OF_F16_75, OF_F32, Sizes};

    const ALL: [(&Sizes, DType); 3] =
        [(&OF_BF16_80, DType::BF16), (&OF_F16_75, DType::F16), (&OF_F32, DType::F32)];

    fn of(tile: &Kernels, sizes @ [m, n, _]: [usize; 3], dtype: DType) -> usize {
        let tiles = m.div_ceil(tile.rows) * n.div_ceil(tile.columns);
        ranges(tile, tiles, sizes, dtype, false)
    }

    #[test]
    fn large_square_products_and_short_sums_are_not_cut() {
        for (sizes, dtype) in ALL {
            for tile in [&sizes.large, &sizes.small] {
                for shape in [[4096; 3], [2048; 3], [4096, 1024, 4096], [1, 1, 1023], [64, 64, 0]] {
                    assert_eq!(of(tile, shape, dtype), 1, "{dtype} {shape:?}");
                }
            }
        }
    }

    #[test]
    fn gradients_of_weights_fill_a_gpu_once() {
        let (sizes, dtype) = ALL[0];
        // Shapes: 768 by 768 from 8192 rows; 64 outputs and 64 channels of 3 by 3 from 32 images of 56 by 56.
        assert_eq!(of(&sizes.large, [768, 768, 8192], dtype), 7);
        assert_eq!(of(&sizes.small, [64, 576, 32 * 56 * 56], dtype), 42);
        assert_eq!(of(&sizes.small, [1, 1, 1024], dtype), 2);
    }

    #[test]
    fn products_by_pair_are_cut_where_sums_are_an_eighth_of_their_operands() {
        let (sizes, dtype) = ALL[0];
        let by_pair = |tiles, shape| ranges(&sizes.small, tiles, shape, dtype, true);
        // Attention's values: 32 tiles, whose sums would be as large as half of the weights.
        assert_eq!(by_pair(32, [2048, 64, 2048]), 1);
        assert_eq!(by_pair(1, [64, 64, 65_536]), 64);
        assert_eq!(by_pair(1, [1, 1, 1024]), 2);
        assert_eq!(by_pair(1, [1, 1, 0]), 1);
    }

    #[test]
    fn sums_are_a_third_of_what_was_read_at_most_and_no_range_is_empty() {
        for (sizes, dtype) in ALL {
            for tile in [&sizes.large, &sizes.small] {
                for k in [1, 33, 1024, 5000, 65_537, 1_000_003] {
                    for tiles in [1, 2, 3, 17, 100] {
                        let sizes = [tile.rows, tile.columns * tiles, k];
                        let ranges = ranges(tile, tiles, sizes, dtype, false);
                        let deep = k.div_ceil(DEEP);
                        assert!((ranges - 1) * deep.div_ceil(ranges) < deep, "{ranges} of {k}");
                        assert!(ranges == 1 || ranges * tiles <= tile.room);
                        let read = (tile.rows + tile.columns) * k * dtype.bytes();
                        let left = 8 * tile.rows * tile.columns * ranges;
                        assert!(ranges == 1 || 3 * left <= read, "{dtype} {ranges} of {k}");
                        assert!(4 * tile.rows * tile.columns * tile.room <= 17 << 20);
                    }
                }
            }
        }
    }
}
