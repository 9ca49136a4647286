//! Matrix products, transposed or not, one or a batch, with a bias or without.

use crate::{
    Result, Tensor, Wgpu,
    dispatch::{
        groups_of,
        structs::{self, Strides, code, count},
    },
};
use binade_core::{DType, cast::OnOverflow};
use binade_gpu::{Driver, GemmKernels, Rounding};

type Gemm<'a> = binade_gpu::Gemm<'a, Wgpu>;
type Matrices<'a> = binade_gpu::Matrices<'a, Wgpu>;

/// Rows and columns of a tile, as the shader's.
const TILE: usize = 64;

impl GemmKernels for Wgpu {
    fn launch_gemm(&self, gemm: &Gemm<'_>) -> Result {
        self.gemm(gemm, None)
    }
}

impl Wgpu {
    /// Computes the products, group after group, with a bias of their rows if there is one.
    pub(super) fn gemm(&self, gemm: &Gemm<'_>, of_rows: Option<&Tensor>) -> Result {
        let to = gemm.c.tensor;
        if to.is_empty() {
            return Ok(());
        }
        // Rows of halves begin at whole words if their length is even; others are rounded in a pass of their own.
        if to.dtype() == DType::F32 || gemm.n.is_multiple_of(2) {
            return self.multiply(gemm, of_rows);
        }
        let wide = self.unset(DType::F32, to.shape())?;
        let c = Matrices { tensor: &wide, ..gemm.c };
        self.multiply(&Gemm { c, ..*gemm }, of_rows)?;
        self.cast_into(&wide, to, Rounding::Nearest(OnOverflow::NonFinite))
    }

    fn multiply(&self, gemm: &Gemm<'_>, of_rows: Option<&Tensor>) -> Result {
        let Gemm { a, b, c, m, n, k, batch, groups, .. } = *gemm;
        let (a_bound, a_start) = self.whole(a.tensor)?;
        let (b_bound, b_start) = self.whole(b.tensor)?;
        let (output, _) = self.whole(c.tensor)?;
        let (kind, bias) = match (gemm.bias, of_rows) {
            (Some(bias), _) => (1, bias),
            (None, Some(bias)) => (2, bias),
            // The binding must not be empty.
            (None, None) => (0, a.tensor),
        };
        let (bias, bias_start) = self.whole(bias)?;
        let params = structs::Product {
            dtype: code("matmul", a.tensor.dtype())?,
            to: code("matmul", c.tensor.dtype())?,
            m: count(m),
            n: count(n),
            k: count(k),
            batch: count(batch),
            a: strides(&a, a_start),
            b: strides(&b, b_start),
            c_row: count(c.row),
            c_step: count(c.step),
            bias: kind,
            bias_start,
            groups: count(groups),
            group_steps: gemm.group_steps.map(count),
        };
        let tiles = m.div_ceil(TILE) * n.div_ceil(TILE) * batch * groups;
        self.dispatch("matmul", &params, vec![a_bound, b_bound, bias, output], groups_of(tiles))
    }
}

fn strides(of: &Matrices<'_>, start: u32) -> Strides {
    let [line, step] = [of.row, of.step].map(count);
    let (row, column) = if of.transposed { (1, line) } else { (line, 1) };
    Strides { start, row, column, step }
}
