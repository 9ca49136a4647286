//! Matrix products, transposed or not, one or a batch, with a bias or without.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        Bound, groups_of,
        structs::{self, Strides, code, count},
    },
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use binade_autocast::Autocast;
use binade_core::DType;
use binade_gpu::Driver;

pub(super) const SHADERS: &[&Shader] = &[&MATMUL];

const MATMUL: Shader = Shader {
    name: "matmul",
    file: "matmul",
    params: size_of::<structs::Product>(),
    bindings: &[(1, Read), (2, Read), (3, Read), (4, Write)],
};

/// Rows and columns of a tile, as the shader's.
const TILE: usize = 64;

/// Matrices of an operand, with strides in elements of its tensor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matrices<'a> {
    tensor: &'a Tensor,
    row: usize,
    column: usize,
    /// Elements from one matrix to the next.
    step: usize,
}

impl<'a> Matrices<'a> {
    /// Describes contiguous row-major matrices, one after the other.
    pub(super) fn dense(tensor: &'a Tensor, rows: usize, columns: usize) -> Self {
        Self { tensor, row: columns, column: 1, step: rows * columns }
    }

    /// Describes matrices side by side in one row-major matrix.
    pub(super) fn beside(tensor: &'a Tensor, count: usize, columns: usize) -> Self {
        Self { tensor, row: count * columns, column: 1, step: columns }
    }

    /// Makes all products use the first matrix.
    pub(super) fn shared(self) -> Self {
        Self { step: 0, ..self }
    }

    pub(super) fn transposed(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }

    fn strides(self, start: u32) -> Strides {
        let [row, column, step] = [self.row, self.column, self.step].map(count);
        Strides { start, row, column, step }
    }
}

/// Bias added to each product.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bias<'a> {
    None,
    OfColumns(&'a Tensor),
    OfRows(&'a Tensor),
}

/// Products `C = A·B + bias`, `batch` of them. All operands have A's element type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gemm<'a> {
    pub(super) a: Matrices<'a>,
    pub(super) b: Matrices<'a>,
    pub(super) bias: Bias<'a>,
    /// Extents M, K, N.
    pub(super) extents: [usize; 3],
    pub(super) batch: usize,
    /// True if the products are to lie side by side in one matrix.
    pub(super) beside: bool,
}

impl Wgpu {
    /// Computes the products, in this shape and element type.
    pub(super) fn gemm(
        &self,
        gemm: &Gemm<'_>,
        shape: &[usize],
        to: DType,
    ) -> Result<Tensor, Error> {
        let [.., n] = gemm.extents;
        // Rows of halves begin at whole words if their length is even; others are rounded in a pass of their own.
        let has_whole_words = to == DType::F32 || n.is_multiple_of(2);
        let result = self.unset(if has_whole_words { to } else { DType::F32 }, shape)?;
        if result.is_empty() {
            return Ok(result);
        }
        self.multiply(gemm, &result)?;
        self.cast(&result, to)
    }

    fn multiply(&self, gemm: &Gemm<'_>, to: &Tensor) -> Result<(), Error> {
        let [m, k, n] = gemm.extents;
        let (a, a_start) = self.whole(gemm.a.tensor)?;
        let (b, b_start) = self.whole(gemm.b.tensor)?;
        let (output, _) = self.whole(to)?;
        let (kind, bias) = match gemm.bias {
            // Something must be bound.
            Bias::None => (0, gemm.a.tensor),
            Bias::OfColumns(bias) => (1, bias),
            Bias::OfRows(bias) => (2, bias),
        };
        let (bias, bias_start): (Bound, u32) = self.whole(bias)?;
        let (c_row, c_step) = if gemm.beside { (gemm.batch * n, n) } else { (n, m * n) };
        let params = structs::Product {
            dtype: code("matmul", gemm.a.tensor.dtype())?,
            to: code("matmul", to.dtype())?,
            m: count(m),
            n: count(n),
            k: count(k),
            batch: count(gemm.batch),
            a: gemm.a.strides(a_start),
            b: gemm.b.strides(b_start),
            c_row: count(c_row),
            c_step: count(c_step),
            bias: kind,
            bias_start,
        };
        let tiles = m.div_ceil(TILE) * n.div_ceil(TILE) * gemm.batch;
        self.dispatch(&MATMUL, &params, vec![a, b, bias, output], groups_of(tiles))
    }
}
