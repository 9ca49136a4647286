//! Matrix product as a request to cuBLASLt: exactly the parameters that its choice of an algorithm depends on.

use super::backends::F32Products;
use crate::{
    ops::gemm::{Gemm, Matrices},
    probe::Capability,
};
use binade_core::DType;

/// Greatest alignment in bytes, which the library assumes by default (`CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_*`).
const MOST_ALIGNED: u64 = 256;

/// Required alignment of a bias in bytes: the library has no attribute for the alignment of a bias.
const BIAS_ALIGNED: u64 = 16;

/// One product or a batch, by shape, types, strides and alignments. A row-major matrix is the transposed matrix in the library's
/// columns: it computes `Cᵀ = op(B)ᵀ·op(A)ᵀ`, whose rows the bias runs along.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Problem {
    pub(super) dtype: DType,
    /// Type of the result.
    pub(super) into: DType,
    /// First operand of the library, which is the second of Binade.
    pub(super) first: Operand,
    /// Second operand of the library, which is the first of Binade.
    pub(super) second: Operand,
    pub(super) result: Operand,
    /// Number of matrices in one call; 1 if each pair must get the same bits as alone.
    pub(super) batch: usize,
    pub(super) bias: bool,
    /// Precision of `f32` products; always full for sixteen bits, which have no more bits to drop.
    pub(super) f32: F32Products,
    /// Number of algorithms to request from the library, to choose the fastest.
    pub(super) algorithms: usize,
}

/// Column-major matrices of an operand.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Operand {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Elements from one column to the next.
    pub(super) leading: usize,
    /// Elements from one matrix to the next.
    pub(super) step: usize,
    pub(super) transposed: bool,
    /// Alignment of the address in bytes.
    pub(super) aligned: u32,
}

impl Problem {
    /// Returns the problem of a product. Returns `None` if the library cannot be used: for no terms, for a bias of another type than the result's,
    /// which the library would read wrongly, for a misaligned bias, and for a bias of sixteen bits beside an operand or a result whose rows are not
    /// whole 16 bytes. In that case cuBLASLt 13.1 on an H100 rounds some sums to bf16, adds the bias, and rounds again.
    ///
    /// If each pair must get the same bits as alone, the problem is that of one pair, the same for all. NVIDIA promises equal bits for repeated
    /// calls, and none for a batch against its single pairs, even by the same algorithm. The alignment is then the one that pairs have in every such
    /// batch, including a single product. This costs no speed: reads of rows are never better aligned than the rows.
    pub(super) fn of(gemm: &Gemm<'_>, f32: F32Products, algorithms: usize) -> Option<Self> {
        let Gemm { a, b, bias, c, m, n, k, batch, by_pair, .. } = *gemm;
        let (dtype, into) = (a.tensor.dtype(), c.tensor.dtype());
        let is_readable = |address: u64| dtype == into && address.is_multiple_of(BIAS_ALIGNED);
        let are_whole = [&a, &b, &c].into_iter().all(has_whole_rows);
        let is_rounded_once = dtype == DType::F32 || are_whole;
        if k == 0 || bias.is_some_and(|bias| !is_readable(bias.address()) || !is_rounded_once) {
            return None;
        }
        let batch = if by_pair { 1 } else { batch };
        let operand = |matrices: &Matrices<'_>, sizes| {
            let Matrices { tensor, row, step, .. } = *matrices;
            let distance = if by_pair { (row | step) * tensor.dtype().bytes() } else { 0 };
            let aligned = aligned(tensor.address() | distance as u64);
            Operand::of(matrices, sizes, batch, aligned)
        };
        Some(Self {
            dtype,
            into,
            first: operand(&b, [k, n]),
            second: operand(&a, [m, k]),
            result: operand(&c, [m, n]),
            batch,
            bias: bias.is_some(),
            f32: if dtype == DType::F32 { f32 } else { F32Products::Full },
            algorithms,
        })
    }

    /// Returns all parameters as words, to compare one run of a step with another.
    pub(super) fn words(&self) -> Vec<u64> {
        let operand = |it: Operand| {
            let sizes = [it.rows, it.columns, it.leading, it.step].map(|size| size as u64);
            [&sizes[..], &[it.transposed.into(), it.aligned.into()]].concat()
        };
        let kinds = [self.dtype as u64, self.into as u64, self.batch as u64, self.bias.into()];
        let kinds = [&kinds[..], &[self.f32 as u64, self.algorithms as u64]].concat();
        let operands = [self.first, self.second, self.result].map(operand).concat();
        [&kinds[..], &operands].concat()
    }
}

impl Operand {
    /// Describes Binade's row-major matrices of `rows` by `columns`; their rows are the library's columns.
    fn of(
        matrices: &Matrices<'_>,
        [rows, columns]: [usize; 2],
        batch: usize,
        aligned: u32,
    ) -> Self {
        let Matrices { row, step, transposed, .. } = *matrices;
        let (lines, line) = if transposed { (columns, rows) } else { (rows, columns) };
        Self {
            rows: line,
            columns: lines,
            // The stride of a single line or matrix is not used, so it must not make a difference between problems.
            leading: if lines == 1 { line } else { row },
            step: if batch == 1 { 0 } else { step },
            transposed,
            aligned,
        }
    }
}

/// Returns true if each row of each matrix begins at a multiple of 16 bytes.
fn has_whole_rows(Matrices { tensor, row, step, .. }: &Matrices<'_>) -> bool {
    let distance = (row | step) * tensor.dtype().bytes();
    (tensor.address() | distance as u64).is_multiple_of(BIAS_ALIGNED)
}

fn aligned(address: u64) -> u32 {
    let lowest = 1 << address.trailing_zeros().min(MOST_ALIGNED.trailing_zeros());
    u32::try_from(lowest.min(MOST_ALIGNED)).unwrap_or(1)
}

/// Returns the bytes of the one workspace, as the cuBLAS documentation recommends them under `cublasSetWorkspace`.
pub(super) fn workspace(capability: Capability) -> usize {
    match capability {
        (9..=11, _) => 32 << 20,
        (12, _) => 12 << 20,
        _ => 4 << 20,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alignment_is_the_largest_power_of_two_that_divides_an_address_up_to_256() {
        assert_eq!([0x1000, 0x100, 0x180, 0x102, 0x1].map(aligned), [256, 256, 128, 2, 1]);
    }
}
