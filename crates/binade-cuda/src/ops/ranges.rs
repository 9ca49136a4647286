//! Products whose K is cut into ranges: the sums of ranges are stored side by side, and then added in order.

use super::gemm::{Matrices, least, size};
use crate::{
    Cuda, Result, Tensor,
    kernels::{GROUP, THREADS},
    launch::{Arg, Grid, args, code, structs::ProductBits},
};
use binade_core::DType;
use binade_gpu::Driver;
use bytemuck::Zeroable;

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

    /// Returns the matrix with this number, as a separate view of memory.
    pub(super) fn matrix(&self, number: usize) -> Result<Self> {
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

    /// Adds the sums of each product's ranges, in order, and its bias, applies `ReLU` if requested, and rounds once.
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
        let grid = Grid::of(groups.div_ceil(THREADS as usize));
        let args = args![Arg::Bytes(bytemuck::bytes_of(&product)), &sums.tensor, size(batch)?];
        self.launch("matmul_join", grid, &args)
    }
}
