//! Matrix products of all operations, and the choice of the code that computes one. The library computes the products that it supports. For others,
//! the shape and the GPU's generation alone choose a kernel.

use super::{
    products::{Kernels, OF_BF16_80, OF_F16_75, OF_F16_80, OF_F32, Sizes},
    ranges::JoinTarget,
};
use crate::{
    Cuda, CudaError, Error, Result, Tensor,
    launch::{Arg, Grid, code, structs::ProductBits},
    probe::Capability,
};
use binade_core::DType;
use binade_gpu::GemmKernels;
use std::sync::atomic::Ordering;

#[cfg(test)]
pub(super) mod tests;

/// Tensor as a batch of matrices.
pub(crate) type Matrices<'a> = binade_gpu::Matrices<'a, Cuda>;

/// Product of matrices. The library does not compute one with [`relu`](Gemm::relu), since its own may lose a NaN.
pub(crate) type Gemm<'a> = binade_gpu::Gemm<'a, Cuda>;

/// Limit of an extent, and of the number of blocks: indices have 32 bits, and a tile may reach beyond.
const MOST: usize = 1 << 31;

impl GemmKernels for Cuda {
    fn launch_gemm(&self, gemm: &Gemm<'_>) -> Result {
        self.gemm(gemm)
    }

    /// Binade's kernels clamp before they write an element. After the library's products `ReLU` is a separate launch, because NVIDIA does not promise
    /// that the library's `ReLU` keeps a NaN.
    fn fuses_relu(&self) -> Result<bool> {
        Ok(!self.has_library()?)
    }
}

impl Cuda {
    /// Computes the products.
    ///
    /// # Errors
    ///
    /// [`CudaError::TooOldFor`] for bf16 on a GPU without Tensor Cores for it, [`CudaError::TooLarge`] beyond 2^31.
    ///
    /// # Panics
    ///
    /// If a tensor does not hold its matrices: a bug of this crate.
    pub(crate) fn gemm(&self, gemm: &Gemm<'_>) -> Result {
        if gemm.groups > 1 {
            return self.gemm_by_group(gemm);
        }
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
        // Checked before the choice between kernels and library, so that both refuse alike.
        [m, n, k].into_iter().try_for_each(|extent| fits(gemm, extent).map(drop))?;
        let has_none = self.inner.library.is_missing.load(Ordering::Relaxed);
        if !gemm.relu && !has_none && self.multiplies_by_library(gemm)? {
            return Ok(());
        }
        self.multiply(gemm, choice)
    }

    /// Computes the products of several groups: a launch for each group, or for each product of a group's batch if those are fewer.
    fn gemm_by_group(&self, gemm: &Gemm<'_>) -> Result {
        let Gemm { a, b, c, batch, groups, group_steps, .. } = *gemm;
        let steps = [a.step, b.step, c.step];
        let (launches, apart, batch, within) = if batch < groups {
            (batch, steps, groups, group_steps)
        } else {
            (groups, group_steps, batch, steps)
        };
        for launch in 0..launches {
            let from = |matrices: Matrices<'_>, step: usize| {
                let first = (launch * step).min(matrices.tensor.len());
                matrices.tensor.slice(first, matrices.tensor.len() - first)
            };
            let parts = [from(a, apart[0])?, from(b, apart[1])?, from(c, apart[2])?];
            self.gemm(&Gemm {
                a: Matrices { tensor: &parts[0], step: within[0], ..a },
                b: Matrices { tensor: &parts[1], step: within[1], ..b },
                c: Matrices { tensor: &parts[2], step: within[2], ..c },
                batch,
                groups: 1,
                ..*gemm
            })?;
        }
        Ok(())
    }

    /// Computes the products by kernels. If K is cut into ranges, each range's sums come first.
    fn multiply(&self, gemm: &Gemm<'_>, choice: GemmConfig) -> Result {
        let Gemm { m, n, batch, .. } = *gemm;
        if choice.ranges == 1 {
            return self.product(gemm, choice);
        }
        let sums = self.sums(batch * choice.ranges, [m, n])?;
        self.product(&Gemm { bias: None, relu: false, c: sums.matrices(), ..*gemm }, choice)?;
        let to = JoinTarget { c: gemm.c, bias: gemm.bias, relu: gemm.relu, m, n, batch };
        self.join(&to, &sums, choice.ranges)
    }

    fn product(&self, gemm: &Gemm<'_>, choice: GemmConfig) -> Result {
        let GemmConfig { tile, kernel, ranges } = choice;
        let product = bits(gemm, ranges)?;
        let tiles = tile.tiles(gemm).saturating_mul(ranges);
        let grid = Grid { blocks: fits(gemm, tiles)?, threads: tile.threads };
        let product = Arg::Bytes(bytemuck::bytes_of(&product));
        self.launch(kernel, grid, &[product])
    }
}

/// Returns the product as kernels read it, with K cut into `ranges`.
fn bits(gemm: &Gemm<'_>, ranges: usize) -> Result<ProductBits> {
    let Gemm { a, b, c, bias, relu, m, n, k, .. } = *gemm;
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
        m: fits(gemm, m)?,
        n: fits(gemm, n)?,
        k: fits(gemm, k)?,
        dtype: code("multiply matrices of", a.tensor.dtype())?,
        c_dtype: code("multiply matrices into", c.tensor.dtype())?,
        a_transposed: a.transposed.into(),
        b_transposed: b.transposed.into(),
        ranges: fits(gemm, ranges)?,
        least: least(relu),
        unused: 0,
    })
}

fn fits(gemm: &Gemm<'_>, extent: usize) -> Result<u32> {
    size(extent, [gemm.batch, gemm.m, gemm.n, gemm.k])
}

/// Returns the lower bound that a kernel clamps results to: `ReLU` as a clamp constant.
pub(super) fn least(relu: bool) -> f32 {
    if relu { 0.0 } else { f32::NEG_INFINITY }
}

/// Returns an extent of a product of these sizes, or a number of its blocks, if 32-bit indices hold it.
pub(super) fn size(extent: usize, sizes: [usize; 4]) -> Result<u32> {
    let too_large =
        || Error::Driver(CudaError::TooLarge { what: "a product", sizes: sizes.to_vec() });
    u32::try_from(extent).ok().filter(|_| extent < MOST).ok_or_else(too_large)
}

/// Kernel that computes a product, and its number of ranges.
#[derive(Clone, Copy, Debug)]
struct GemmConfig {
    tile: &'static Kernels,
    kernel: &'static str,
    /// Number of ranges that K is cut into.
    ranges: usize,
}

/// Returns the kernel and the ranges for a shape.
fn chosen(dtype: DType, capability: Capability, gemm: &Gemm<'_>) -> Result<GemmConfig> {
    let sizes = sizes_of(dtype, capability)?;
    let alone = Gemm { batch: 1, ..*gemm };
    let counted = if gemm.by_pair { &alone } else { gemm };
    let large = |gemm: &Gemm<'_>, ranges| {
        sizes.large.find(gemm).filter(|_| sizes.large.is_worth_it(gemm, ranges))
    };
    let shape = [gemm.m, gemm.n, gemm.k];
    let of = |tile: &Kernels| tile.ranges(tile.tiles(counted), shape, dtype, gemm.by_pair);
    let is_large = large(counted, of(&sizes.large)).is_some();
    let ranges = of(if is_large { &sizes.large } else { &sizes.small });
    // Both tiles add up a range's terms alike, so the bits do not depend on the choice.
    if let Some(kernel) = large(gemm, ranges) {
        return Ok(GemmConfig { tile: &sizes.large, kernel, ranges });
    }
    let missing = || Error::Unsupported { what: "multiply matrices of", dtype };
    let kernel = sizes.small.find(gemm).ok_or_else(missing)?;
    Ok(GemmConfig { tile: &sizes.small, kernel, ranges })
}

/// Returns the tiles that a GPU's generation has for an element type.
fn sizes_of(dtype: DType, capability: Capability) -> Result<&'static Sizes> {
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
