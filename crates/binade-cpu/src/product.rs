//! Matrix products, accumulated in f32 in an order that depends only on shapes.
//!
//! With AVX-512 both operands are packed into panels of 32-bit words, and the result is computed tile by tile (Goto, van de Geijn 2008, "Anatomy of
//! high-performance matrix multiplication"). A word is an f32, or a pair of bf16 where the processor has AVX512-BF16, whose dot products treat
//! subnormal numbers as zero. Other processors, and small products, use `matrixmultiply`.

#![expect(
    clippy::many_single_char_names,
    reason = "matrices and extents go by the letters the field gives them"
)]

#[cfg(target_arch = "x86_64")]
mod packed;
#[cfg(target_arch = "x86_64")]
mod tile;

use crate::{Tensor, parallel, pool::Buffer, simd};
use binade_core::Element;
use half::{bf16, f16};
use ndarray::{ArrayView2, ArrayViewMut2, ShapeBuilder, linalg::general_mat_mul, s};
use std::{borrow::Cow, ops::Range};

/// Number of multiplications that cost as much as one elementwise operation.
pub(crate) const PER_OPERATION: usize = 16;

/// Elements as they are stored.
#[derive(Clone, Copy)]
pub(crate) enum Elements<'a> {
    F32(&'a [f32]),
    F16(&'a [f16]),
    BF16(&'a [bf16]),
}

impl<'a> Elements<'a> {
    /// Returns the elements of a tensor of one of these types.
    pub(crate) fn of(tensor: &'a Tensor) -> Self {
        let f16 = || tensor.as_slice().map(Self::F16);
        let low = tensor.as_slice().map(Self::BF16).or_else(f16);
        low.unwrap_or_else(|| Self::F32(tensor.as_slice().expect("operands were checked")))
    }

    /// Returns the elements of a range.
    pub(crate) fn range(self, range: Range<usize>) -> Self {
        match self {
            Self::F32(all) => Self::F32(&all[range]),
            Self::F16(all) => Self::F16(&all[range]),
            Self::BF16(all) => Self::BF16(&all[range]),
        }
    }

    /// Returns the elements in f32.
    pub(crate) fn to_f32(self) -> Cow<'a, [f32]> {
        match self {
            Self::F32(all) => all.into(),
            Self::F16(all) => widened(all).into(),
            Self::BF16(all) => widened(all).into(),
        }
    }

    /// Calls `f` with the elements in f32.
    fn with_f32<T>(self, f: impl FnOnce(&[f32]) -> T) -> T {
        match self {
            Self::F32(all) => f(all),
            Self::F16(all) => f(&Buffer::from(widened(all))),
            Self::BF16(all) => f(&Buffer::from(widened(all))),
        }
    }
}

fn widened<E: Element>(all: &[E]) -> Vec<f32> {
    let widen = |first: usize, chunk: &mut [f32]| simd::widen(&all[first..], chunk);
    parallel::filled(all.len(), widen)
}

/// Matrix, transposed or not.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    elements: Elements<'a>,
    /// Numbers of rows and columns.
    extents: [usize; 2],
    /// True if the elements are those of the transpose, row by row.
    is_transposed: bool,
}

impl<'a> Matrix<'a> {
    /// Returns elements as a row-major matrix.
    pub(crate) fn new(elements: Elements<'a>, rows: usize, columns: usize) -> Self {
        Self { elements, extents: [rows, columns], is_transposed: false }
    }

    /// Returns matrix `place` of a tensor that has many, row-major.
    pub(crate) fn of(tensor: &'a Tensor, place: usize, rows: usize, columns: usize) -> Self {
        let (first, len) = (place * rows * columns, rows * columns);
        Self::new(Elements::of(tensor).range(first..first + len), rows, columns)
    }

    /// Returns f32 values as a row-major matrix.
    pub(crate) fn f32(values: &'a [f32], rows: usize, columns: usize) -> Self {
        Self::new(Elements::F32(values), rows, columns)
    }

    /// Returns the matrix with rows and columns exchanged.
    pub(crate) fn transposed(self) -> Self {
        let [rows, columns] = self.extents;
        Self { extents: [columns, rows], is_transposed: !self.is_transposed, ..self }
    }

    /// Calls `f` with the matrix in f32.
    fn with_view<T>(self, f: impl FnOnce(ArrayView2<'_, f32>) -> T) -> T {
        let shape = self.extents.set_f(self.is_transposed);
        self.elements.with_f32(|all| {
            f(ArrayView2::from_shape(shape, all).expect("as many elements as the extents say"))
        })
    }
}

/// Least number of multiplications for which operands are packed.
#[cfg(target_arch = "x86_64")]
const WORTH_PACKING: usize = 1 << 15;

/// Factor of the result's old elements in `c = a·b + beta·c`, as BLAS has it.
#[derive(Clone, Copy)]
enum Beta {
    /// The elements are overwritten.
    Zero,
    One,
}

/// Computes `c = a·b`, with `c` row-major.
pub(crate) fn product(a: Matrix<'_>, b: Matrix<'_>, c: &mut [f32]) {
    multiply(a, b, Beta::Zero, c);
}

/// Computes `c += a·b`, with `c` row-major.
pub(crate) fn add_product(a: Matrix<'_>, b: Matrix<'_>, c: &mut [f32]) {
    multiply(a, b, Beta::One, c);
}

fn multiply(a: Matrix<'_>, b: Matrix<'_>, beta: Beta, c: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if a.extents.iter().fold(b.extents[1], |all, it| all.saturating_mul(*it)) >= WORTH_PACKING
        && let Some(kernel) = tile::Kernel::of(a.elements, b.elements)
    {
        return packed::multiply(kernel, [a, b], beta, c);
    }
    if let Beta::Zero = beta {
        parallel::blocks(c, |_, block| block.fill(0.0));
    }
    a.with_view(|a| b.with_view(|b| add_plain_product(&a, &b, c)));
}

/// Least number of rows of the result for one task: each task packs the right-hand matrix anew.
const ROWS: usize = 64;

/// Computes `c += a·b`. `matrixmultiply` works on blocks of rows: its half-precision rivals round between blocks of K.
fn add_plain_product(a: &ArrayView2<'_, f32>, b: &ArrayView2<'_, f32>, c: &mut [f32]) {
    let (k, n) = b.dim();
    let cost = k.saturating_mul(n) / PER_OPERATION;
    parallel::rows(c, n, cost.clamp(1, parallel::BLOCK / ROWS), |first, block| {
        let rows = block.len() / n;
        let a = a.slice(s![first..first + rows, ..]);
        let mut c = ArrayViewMut2::from_shape((rows, n), block).expect("whole rows");
        general_mat_mul(1.0, &a, b, 1.0, &mut c);
    });
}

#[cfg(test)]
mod tests;
