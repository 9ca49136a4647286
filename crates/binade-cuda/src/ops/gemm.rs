//! Matrix products of all operations, and the choice of the code that computes one. The library computes those that it takes;
//! otherwise a kernel does, chosen by the shape and the GPU's generation alone.

use super::{
    products::{Kernels, OF_BF16_80, OF_F16_75, OF_F16_80, OF_F32, Sizes},
    ranges::{Joined, ranges},
};
use crate::{
    Cuda, CudaError, Error, Tensor,
    autocast::code,
    kernels::Kernel,
    launch::{Arg, Grid, structs::ProductBits},
    probe::Capability,
};
use binade_core::DType;

#[cfg(test)]
pub(super) mod tests;

pub(super) const KERNELS: &[&Kernel] = super::products::KERNELS;

/// Tensor as a batch of matrices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrices<'a> {
    pub(crate) tensor: &'a Tensor,
    /// Elements from one row to the next in memory.
    pub(crate) row: usize,
    /// Elements from one matrix to the next; 0 if all products share one.
    pub(crate) step: usize,
    /// True if rows in memory are the operand's columns.
    pub(crate) transposed: bool,
}

/// Product `C = op(A)·op(B) + bias`, or its rectified linear unit, for each of a batch, accumulated in f32 and rounded once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gemm<'a> {
    /// Matrices `[m, k]`, or `[k, m]` if transposed.
    pub(crate) a: Matrices<'a>,
    /// Matrices `[k, n]`, or `[n, k]` if transposed; of A's type.
    pub(crate) b: Matrices<'a>,
    /// Vector `[n]` of A's type, added to every row.
    pub(crate) bias: Option<&'a Tensor>,
    /// True if results that are not positive become +0; NaN stays. The library does not compute these, since its own `ReLU` may
    /// lose a NaN.
    pub(crate) relu: bool,
    /// Results `[m, n]` of A's type or f32, not transposed: new memory, of which no clone exists.
    pub(crate) c: Matrices<'a>,
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) batch: usize,
    /// True if each product has the bits that it has alone, whatever the batch: [`Bmm`](binade_ops::Bmm) promises that.
    pub(crate) by_pair: bool,
}

impl<'a> Gemm<'a> {
    /// Describes one product `C = op(A)·op(B)` of `[m, k]` and `[k, n]`, without a bias.
    #[expect(
        clippy::many_single_char_names,
        reason = "matrices and extents go by the letters the field gives them"
    )]
    pub(crate) fn of(
        a: Matrices<'a>,
        b: Matrices<'a>,
        c: Matrices<'a>,
        [m, n, k]: [usize; 3],
    ) -> Self {
        Self { a, b, bias: None, c, m, n, k, batch: 1, relu: false, by_pair: false }
    }
}

impl<'a> Matrices<'a> {
    /// Describes contiguous matrices of `rows` by `columns`.
    pub(crate) fn dense(tensor: &'a Tensor, rows: usize, columns: usize) -> Self {
        Self { tensor, row: columns, step: rows * columns, transposed: false }
    }

    pub(crate) fn transposed(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    /// Returns true if the tensor holds `batch` matrices of `rows` by `columns`, transposed or not.
    fn holds(&self, rows: usize, columns: usize, batch: usize) -> bool {
        let (lines, line) = if self.transposed { (columns, rows) } else { (rows, columns) };
        if batch * lines * line == 0 {
            return true;
        }
        let last = (batch - 1) * self.step + (lines - 1) * self.row + line;
        line <= self.row.max(line * usize::from(lines == 1)) && last <= self.tensor.len()
    }
}

/// Limit of an extent, and of the number of blocks: indices have 32 bits, and a tile may reach beyond.
const MOST: usize = 1 << 31;

impl Cuda {
    /// Computes the products.
    ///
    /// # Errors
    ///
    /// [`CudaError::TooOldFor`] for bf16 on a GPU that has no Tensor Cores for it, [`CudaError::TooLarge`] beyond 2^31.
    ///
    /// # Panics
    ///
    /// If a tensor does not hold its matrices: a bug of this crate.
    pub(crate) fn gemm(&self, gemm: &Gemm<'_>) -> Result<(), Error> {
        let Gemm { a, b, c, bias, m, n, k, batch, .. } = *gemm;
        let dtype = a.tensor.dtype();
        assert!(a.holds(m, k, batch) && b.holds(k, n, batch) && c.holds(m, n, batch), "{gemm:?}");
        assert!(b.tensor.dtype() == dtype && bias.is_none_or(|it| it.dtype() == dtype), "{gemm:?}");
        assert!([dtype, DType::F32].contains(&c.tensor.dtype()) && !c.transposed, "{gemm:?}");
        assert!(bias.is_none_or(|bias| bias.len() == n), "{gemm:?}");
        if m * n * batch == 0 {
            return Ok(());
        }
        let choice = chosen(dtype, self.inner.capability, gemm)?;
        // Before the choice between kernels and library, so that both refuse alike.
        [m, n, k].into_iter().try_for_each(|extent| gemm.size(extent).map(|_| ()))?;
        if !gemm.relu && self.multiplies_by_library(gemm)? {
            return Ok(());
        }
        self.multiply(gemm, choice)
    }

    /// Computes the products by kernels. If K is cut into ranges, each range's sums come first.
    fn multiply(&self, gemm: &Gemm<'_>, choice: Choice) -> Result<(), Error> {
        let Gemm { m, n, batch, .. } = *gemm;
        if choice.ranges == 1 {
            return self.product(gemm, choice);
        }
        let sums = self.sums(batch * choice.ranges, [m, n])?;
        self.product(&Gemm { bias: None, relu: false, c: sums.matrices(), ..*gemm }, choice)?;
        let to = Joined { c: gemm.c, bias: gemm.bias, relu: gemm.relu, m, n, batch };
        self.join(&to, &sums, choice.ranges)
    }

    fn product(&self, gemm: &Gemm<'_>, choice: Choice) -> Result<(), Error> {
        let Choice { tile, kernel, ranges } = choice;
        let product = gemm.bits(ranges)?;
        let tiles = tile.tiles(gemm).saturating_mul(ranges);
        let grid = Grid { blocks: gemm.size(tiles)?, threads: tile.threads };
        let product = Arg::Bytes(bytemuck::bytes_of(&product));
        self.launch_sharing(kernel, grid, tile.shared, &[product])
    }
}

impl Gemm<'_> {
    /// Returns the product as kernels read it, with K cut into `ranges`.
    fn bits(&self, ranges: usize) -> Result<ProductBits, Error> {
        let Self { a, b, c, bias, relu, m, n, k, .. } = *self;
        Ok(ProductBits {
            a: a.tensor.address(),
            b: b.tensor.address(),
            bias: bias.map_or(0, Tensor::address),
            c: c.tensor.address(),
            a_step: a.step as u64,
            b_step: b.step as u64,
            c_step: c.step as u64,
            a_row: a.row as u64,
            b_row: b.row as u64,
            c_row: c.row as u64,
            m: self.size(m)?,
            n: self.size(n)?,
            k: self.size(k)?,
            dtype: code("multiply matrices of", a.tensor.dtype())?,
            c_dtype: code("multiply matrices into", c.tensor.dtype())?,
            a_transposed: a.transposed.into(),
            b_transposed: b.transposed.into(),
            ranges: self.size(ranges)?,
            least: least(relu),
            unused: 0,
        })
    }

    fn size(&self, extent: usize) -> Result<u32, Error> {
        size(extent, [self.batch, self.m, self.n, self.k])
    }
}

/// Returns the lower bound that a kernel clamps results to: `ReLU` as a clamp constant.
pub(super) fn least(relu: bool) -> f32 {
    if relu { 0.0 } else { f32::NEG_INFINITY }
}

/// Returns an extent of a product of these sizes, or a number of its blocks, if 32-bit indices hold it.
pub(super) fn size(extent: usize, sizes: [usize; 4]) -> Result<u32, Error> {
    let too_large =
        || Error::Driver(CudaError::TooLarge { what: "a product", sizes: sizes.to_vec() });
    u32::try_from(extent).ok().filter(|_| extent < MOST).ok_or_else(too_large)
}

/// Kernel that computes a product, and its number of ranges.
#[derive(Clone, Copy, Debug)]
struct Choice {
    tile: &'static Kernels,
    kernel: &'static Kernel,
    /// Number of ranges that K is cut into.
    ranges: usize,
}

/// Returns the kernel and the ranges for a shape.
fn chosen(dtype: DType, capability: Capability, gemm: &Gemm<'_>) -> Result<Choice, Error> {
    let sizes = sizes_of(dtype, capability)?;
    let alone = Gemm { batch: 1, ..*gemm };
    let counted = if gemm.by_pair { &alone } else { gemm };
    let large = |gemm: &Gemm<'_>, ranges| {
        sizes.large.find(gemm).filter(|_| sizes.large.is_worth_it(gemm, ranges))
    };
    let shape = [gemm.m, gemm.n, gemm.k];
    let of = |tile: &Kernels| ranges(tile, tile.tiles(counted), shape, dtype, gemm.by_pair);
    let is_large = large(counted, of(&sizes.large)).is_some();
    let ranges = of(if is_large { &sizes.large } else { &sizes.small });
    // Both tiles add up a range's terms alike, so the bits do not depend on the choice.
    if let Some(kernel) = large(gemm, ranges) {
        return Ok(Choice { tile: &sizes.large, kernel, ranges });
    }
    let missing = || Error::Unsupported { what: "multiply matrices of", dtype };
    let kernel = sizes.small.find(gemm).ok_or_else(missing)?;
    Ok(Choice { tile: &sizes.small, kernel, ranges })
}

/// Returns the tiles that a GPU's generation has for an element type.
fn sizes_of(dtype: DType, capability: Capability) -> Result<&'static Sizes, Error> {
    match dtype {
        DType::F32 => Ok(&OF_F32),
        DType::F16 if capability < (8, 0) => Ok(&OF_F16_75),
        DType::BF16 if capability < (8, 0) => {
            let found = format!("{}.{}", capability.0, capability.1);
            let instead = "cast to f16, or to f32, first";
            let what = "a product of bf16 matrices";
            Err(Error::Driver(CudaError::TooOldFor { what, found, needed: "8.0", instead }))
        }
        DType::F16 => Ok(&OF_F16_80),
        DType::BF16 => Ok(&OF_BF16_80),
        _ => Err(Error::Unsupported { what: "multiply matrices of", dtype }),
    }
}
