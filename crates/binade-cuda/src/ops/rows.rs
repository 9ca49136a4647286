//! Kernels on elements one by one, and on the rows of the last axis: teams of threads stride over them, a row a team.

use crate::{
    Cuda, Result, Tensor,
    kernels::THREADS,
    launch::{Arg, Grid, MOST_BLOCKS, args, code},
};
use binade_gpu::{CrossEntropyKernels, Driver, PointwiseKernels, RowKernels, Rows};

/// Largest width of a row that a warp processes; a block processes a wider one: `rows.cuh`'s `WARP_ROW`.
const WARP_ROW: usize = 1024;

/// Threads of a warp.
const WARP: usize = 32;

/// Returns a grid with a team for each row.
pub(super) fn grid(rows: Rows) -> Grid {
    Grid::of(rows.count.div_ceil(teams(rows)))
}

/// Returns the number of rows that a block processes at a time.
fn teams(rows: Rows) -> usize {
    if rows.width > WARP_ROW { 1 } else { THREADS as usize / WARP }
}

/// Returns the number of rows of a chunk. There are no more chunks than blocks to leave a sum. It depends only on the shape.
fn chunk(rows: Rows) -> usize {
    rows.count.div_ceil(MOST_BLOCKS).next_multiple_of(teams(rows)).max(teams(rows))
}

impl PointwiseKernels for Cuda {
    fn launch_each(&self, kernel: &'static str, operands: &[&Tensor], result: &Tensor) -> Result {
        let (dtype, len) = (code(kernel, result.dtype())?, result.len());
        let tensors = operands.iter().chain([&result]).map(|it| Arg::from(*it));
        let args: Vec<_> = tensors.chain(args![dtype, len]).collect();
        self.launch(kernel, Grid::elementwise(len), &args)
    }

    fn launch_fill(&self, value: f32, result: &Tensor) -> Result {
        let (dtype, len) = (code("fill", result.dtype())?, result.len());
        self.launch("fill", Grid::elementwise(len), &args![result, dtype, len, value])
    }

    fn launch_dropout(&self, tensors: [&Tensor; 3], threshold: u64, factor: f32) -> Result {
        let [input, key, result] = tensors;
        let (dtype, len) = (code("dropout", result.dtype())?, result.len());
        let args = args![input, key, result, dtype, len, threshold, factor];
        self.launch("dropout", Grid::elementwise(len), &args)
    }
}

impl RowKernels for Cuda {
    fn launch_rows(&self, kernel: &'static str, operands: &[&Tensor], result: &Tensor) -> Result {
        let (dtype, rows) = (code(kernel, result.dtype())?, Rows::of(result));
        let operands = operands.iter().map(|operand| Arg::from(*operand));
        let args: Vec<_> = operands.chain(args![dtype, result, rows.count, rows.width]).collect();
        self.launch(kernel, grid(rows), &args)
    }
}

impl CrossEntropyKernels for Cuda {
    fn launch_cross_entropy(&self, logits: &Tensor, labels: &Tensor, result: &Tensor) -> Result {
        let (rows, dtype) = (Rows::of(logits), code("cross_entropy", logits.dtype())?);
        let chunk = chunk(rows);
        let chunks = rows.count.div_ceil(chunk);
        let partials = self.buffer(size_of::<f64>() * chunks)?;
        let [record, launch] = self.fault_args()?;
        let done = &self.shared_buffers()?.done;
        let Rows { count, width } = rows;
        let args = args![
            logits, dtype, labels, count, width, chunk, &partials, done, result, record, launch
        ];
        self.launch("cross_entropy", Grid::of(chunks), &args)
    }

    fn launch_cross_entropy_backward(&self, tensors: [&Tensor; 4]) -> Result {
        let [grad, logits, labels, result] = tensors;
        let (rows, dtype) = (Rows::of(logits), code("cross_entropy", result.dtype())?);
        let [record, launch] = self.fault_args()?;
        let Rows { count, width } = rows;
        let args = args![grad, logits, dtype, labels, count, width, result, record, launch];
        self.launch("cross_entropy_backward", grid(rows), &args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_as_many_as_blocks_at_most_and_every_team_has_a_row() {
        let of = |count, width| chunk(Rows { count, width });
        assert_eq!([of(0, 10), of(1, 10), of(8 * 4096, 1024)], [8; 3]);
        assert_eq!([of(8 * 4096 + 1, 10), of(1 << 20, 10)], [16, 256]);
        assert_eq!(
            [of(0, 1025), of(4096, 1025), of(4097, 1025), of(1 << 20, 50_000)],
            [1, 1, 2, 256]
        );
    }
}
