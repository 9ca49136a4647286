//! Matrix products, all of them: the one place that chooses what computes one. The library, where there is one and it takes
//! it; otherwise a kernel, from the shape and the GPU's generation alone.

use super::products::{Kernels, OF_BF16_80, OF_F16_75, OF_F16_80, OF_F32};
use crate::{
    Cuda, Error, Tensor,
    autocast::code,
    kernels::Kernel,
    launch::{Arg, Grid, structs::ProductBits},
    probe::Capability,
};
use binade_core::DType;

#[cfg(test)]
mod tests;

pub(super) const KERNELS: &[&Kernel] = super::products::KERNELS;

/// A tensor as a batch of matrices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrices<'a> {
    pub(crate) tensor: &'a Tensor,
    /// Elements from one row to the next, as it lies in memory.
    pub(crate) row: usize,
    /// Elements from one matrix to the next; 0 where all products have the same.
    pub(crate) step: usize,
    /// Whether rows, as they lie, are the operand's columns.
    pub(crate) transposed: bool,
}

/// `C = op(A)·op(B) + bias` for each of a batch, accumulated in f32 and rounded once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gemm<'a> {
    /// `[m, k]`, or `[k, m]` where it is transposed.
    pub(crate) a: Matrices<'a>,
    /// `[k, n]`, or `[n, k]` where it is transposed; of A's type.
    pub(crate) b: Matrices<'a>,
    /// `[n]`, of A's type: added to every row.
    pub(crate) bias: Option<&'a Tensor>,
    /// `[m, n]`, of A's type or f32; not transposed. New memory, which nobody else looks at.
    pub(crate) c: Matrices<'a>,
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) batch: usize,
}

impl<'a> Matrices<'a> {
    /// Matrices of `rows` by `columns` as they lie, with nothing between.
    pub(crate) fn dense(tensor: &'a Tensor, rows: usize, columns: usize) -> Self {
        Self { tensor, row: columns, step: rows * columns, transposed: false }
    }

    pub(crate) fn transposed(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    /// Whether the tensor holds `batch` matrices of `rows` by `columns`, transposed or not.
    fn holds(&self, rows: usize, columns: usize, batch: usize) -> bool {
        let (lines, line) = if self.transposed { (columns, rows) } else { (rows, columns) };
        if batch * lines * line == 0 {
            return true;
        }
        let last = (batch - 1) * self.step + (lines - 1) * self.row + line;
        line <= self.row.max(line * usize::from(lines == 1)) && last <= self.tensor.len()
    }
}

/// The most of an extent, and of blocks: indices are of 32 bits, and a tile may reach beyond.
const MOST: usize = 1 << 31;

impl Cuda {
    /// Computes the products.
    ///
    /// # Errors
    ///
    /// [`Error::TooOldFor`] for bf16 on a GPU that has no Tensor Cores for it, [`Error::TooLarge`] beyond 2^31.
    ///
    /// # Panics
    ///
    /// Where a tensor does not hold the matrices that it is said to: a mistake of this crate's.
    pub(crate) fn gemm(&self, gemm: &Gemm<'_>) -> Result<(), Error> {
        let Gemm { a, b, c, bias, m, n, k, batch } = *gemm;
        let dtype = a.tensor.dtype();
        assert!(a.holds(m, k, batch) && b.holds(k, n, batch) && c.holds(m, n, batch), "{gemm:?}");
        assert!(b.tensor.dtype() == dtype && bias.is_none_or(|it| it.dtype() == dtype), "{gemm:?}");
        assert!([dtype, DType::F32].contains(&c.tensor.dtype()) && !c.transposed, "{gemm:?}");
        assert!(bias.is_none_or(|bias| bias.len() == n), "{gemm:?}");
        if m * n * batch == 0 {
            return Ok(());
        }
        let (tile, kernel) = chosen(dtype, self.inner.capability, gemm)?;
        let too_large = || Error::TooLarge { what: "a product", sizes: vec![batch, m, n, k] };
        let size = |extent: usize| {
            u32::try_from(extent).ok().filter(|_| extent < MOST).ok_or_else(too_large)
        };
        let [rows, columns, terms] = [size(m)?, size(n)?, size(k)?];
        if self.multiplies_by_library(gemm)? {
            return Ok(());
        }
        let product = ProductBits {
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
            m: rows,
            n: columns,
            k: terms,
            dtype: code("multiply matrices of", dtype)?,
            c_dtype: code("multiply matrices into", c.tensor.dtype())?,
            a_transposed: a.transposed.into(),
            b_transposed: b.transposed.into(),
            pad: 0,
        };
        let grid = Grid { blocks: size(tile.tiles(gemm))?, threads: tile.threads };
        let product = Arg::Bytes(bytemuck::bytes_of(&product));
        self.launch_sharing(kernel, grid, tile.shared, &[product])
    }
}

/// The kernels of the GPU's generation, with the tile that the shape asks for.
fn chosen(
    dtype: DType,
    capability: Capability,
    gemm: &Gemm<'_>,
) -> Result<(&'static Kernels, &'static Kernel), Error> {
    let sizes = match dtype {
        DType::F32 => &OF_F32,
        DType::F16 if capability < (8, 0) => &OF_F16_75,
        DType::BF16 if capability < (8, 0) => {
            let found = format!("{}.{}", capability.0, capability.1);
            let instead = "cast to f16, or to f32, first";
            let what = "a product of bf16 matrices";
            return Err(Error::TooOldFor { what, found, needed: "8.0", instead });
        }
        DType::F16 => &OF_F16_80,
        DType::BF16 => &OF_BF16_80,
        _ => return Err(Error::Unsupported { what: "multiply matrices of", dtype }),
    };
    let kernel = |tile: &'static Kernels| Some((tile, tile.find(gemm)?));
    let large = kernel(&sizes.large).filter(|(tile, _)| tile.is_worth_it(gemm));
    let missing = || Error::Unsupported { what: "multiply matrices of", dtype };
    large.or_else(|| kernel(&sizes.small)).ok_or_else(missing)
}
