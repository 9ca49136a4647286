//! Kernels of matrix products, with the tiles that their headers state, and the ranges that K is cut into: long sums of few tiles
//! leave a GPU idle otherwise.

use super::gemm::Gemm;
use binade_core::DType;

#[cfg(test)]
mod tests;

/// Kernels with the same tile.
#[derive(Debug)]
pub(super) struct Kernels {
    /// Kernels for neither operand transposed, B, A, and both; `None` if the tile has no such kernel.
    by_transposed: [Option<&'static str>; 4],
    /// True if a bias is added only with B alone transposed, as a linear layer has it.
    bias_only_by_rows: bool,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Number of blocks that a large GPU of the generation runs at once, three for each of 128 multiprocessors if the tile is
    /// small: an estimate from registers and shared memory.
    pub(super) room: usize,
    pub(super) threads: u32,
    pub(super) shared: u32,
}

/// Two tiles for one element type, on GPUs of a generation.
#[derive(Debug)]
pub(super) struct Sizes {
    pub(super) large: Kernels,
    pub(super) small: Kernels,
}

/// Least number of large tiles for which large tiles are chosen: fewer leave too much of a GPU idle.
const WORTH_IT: usize = 64;

/// Least number of terms of a range: fewer take less time than the start of the second launch, which adds up the ranges.
const LEAST: usize = 512;

/// Number of terms that ranges are cut at multiples of: a tile of 16-bit operands has as many terms, one of f32 half of them.
const DEEP: usize = 32;

impl Kernels {
    /// Returns the number of tiles of all products.
    pub(super) fn tiles(&self, gemm: &Gemm<'_>) -> usize {
        let tiles = gemm.m.div_ceil(self.rows).saturating_mul(gemm.n.div_ceil(self.columns));
        tiles.saturating_mul(gemm.batch)
    }

    /// Returns true if there are enough tiles, counted over all ranges, and they are more than half full.
    pub(super) fn is_worth_it(&self, gemm: &Gemm<'_>, ranges: usize) -> bool {
        let is_filled = 2 * gemm.m > self.rows && 2 * gemm.n > self.columns;
        is_filled && self.tiles(gemm).saturating_mul(ranges) >= WORTH_IT
    }

    /// Returns the kernel for these transpositions and this bias.
    pub(super) fn find(&self, gemm: &Gemm<'_>) -> Option<&'static str> {
        if gemm.bias.is_some() && self.bias_only_by_rows && !gemm.b.transposed {
            return None;
        }
        self.by_transposed[2 * usize::from(gemm.a.transposed) + usize::from(gemm.b.transposed)]
    }

    /// Returns the number of ranges that K is cut into for products of `m` by `n` with this number of tiles. The number depends on shape, element
    /// type and the GPU's generation, but not on the number of multiprocessors, so that all GPUs of a generation give one result.
    ///
    /// The ranges are as many as fill a large GPU once, [`room`](Self::room). Products of more tiles than half of that are not cut, such
    /// as large square ones and the layers of a wide model. The ranges are also no more than keep the traffic small. For a range a
    /// tile of `rows · columns` reads `(rows + columns) · terms` elements and leaves `rows · columns` sums, of 4 bytes, which are
    /// read once more. With `LEAST` or more terms, the 8 bytes of each sum are at most a third of the bytes read for them. The sums
    /// take at most `room · rows · columns · 4` bytes of memory, 17 MB, for each pair if `by_pair`.
    ///
    /// If each product must get the same bits as alone (`by_pair`), the batch does not count, even if it already fills the GPU. Sums are then at most
    /// an eighth of a whole product's operands, so that cutting costs little in that case.
    ///
    /// These are estimates; nothing has been measured.
    pub(super) fn ranges(
        &self,
        tiles: usize,
        [m, n, k]: [usize; 3],
        dtype: DType,
        by_pair: bool,
    ) -> usize {
        let (sums, lines) = (self.rows * self.columns, self.rows + self.columns);
        let least = (3 * 8 * sums / (lines * dtype.bytes())).max(LEAST);
        let operands = (m + n) * k * dtype.bytes();
        let cheap = if by_pair { operands / (8 * 8 * m * n).max(1) } else { usize::MAX };
        let wanted = (self.room / tiles.max(1)).min(k / least).min(cheap).max(1);
        // All ranges but the last are equally long, and none is empty.
        let deep = k.div_ceil(DEEP).max(1);
        deep.div_ceil(deep.div_ceil(wanted))
    }
}

/// Returns a square tile with one kernel for every transposition.
const fn square(
    kernel: &'static str,
    side: usize,
    room: usize,
    [threads, shared]: [u32; 2],
) -> Kernels {
    let by_transposed = [Some(kernel); 4];
    let (rows, columns, bias_only_by_rows) = (side, side, false);
    Kernels { by_transposed, bias_only_by_rows, rows, columns, room, threads, shared }
}

/// Returns the tile of a product kernel.
pub(super) fn tile_of(kernel: &str) -> Option<&'static Kernels> {
    let all = [&OF_F16_75, &OF_F32, &OF_BF16_80, &OF_F16_80].into_iter();
    let takes = |tile: &&Kernels| tile.by_transposed.contains(&Some(kernel));
    all.flat_map(|sizes| [&sizes.large, &sizes.small]).find(takes)
}

/// Tiles for f16 before compute capability 8.0.
pub(super) static OF_F16_75: Sizes = Sizes {
    large: square("matmul_f16", 128, 128, [256, 32_768]),
    small: square("matmul_f16_small", 64, 384, [128, 16_384]),
};

/// Tiles for f32 on every GPU.
pub(super) static OF_F32: Sizes = Sizes {
    large: square("matmul_f32", 128, 256, [256, 33_792]),
    small: square("matmul_f32_small", 64, 384, [256, 17_408]),
};

/// Tiles for bf16 from compute capability 8.0 on.
pub(super) static OF_BF16_80: Sizes = sizes_of_80(
    ["matmul_80_bf16_nn", "matmul_80_bf16_nt", "matmul_80_bf16_tn"],
    "matmul_80_bf16_small",
);

/// Tiles for f16 from compute capability 8.0 on.
pub(super) static OF_F16_80: Sizes = sizes_of_80(
    ["matmul_80_f16_nn", "matmul_80_f16_nt", "matmul_80_f16_tn"],
    "matmul_80_f16_small",
);

/// Returns tiles of kernels for neither operand transposed, B, and A.
const fn sizes_of_80([nn, nt, tn]: [&'static str; 3], small: &'static str) -> Sizes {
    let large = Kernels {
        by_transposed: [Some(nn), Some(nt), Some(tn), None],
        bias_only_by_rows: true,
        rows: 128,
        columns: 256,
        room: 128,
        threads: 256,
        shared: 98_304,
    };
    Sizes { large, small: square(small, 64, 384, [128, 32_768]) }
}
