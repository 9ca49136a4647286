//! Sets of tensors in one launch: the division into chunks, the kernel arguments of a gradient, and the launch.

use crate::{
    Cuda, Error, Gradients, Tensor,
    kernels::THREADS,
    launch::{Arg, Grid, code},
};
use bytemuck::Pod;

/// Elements of the shortest chunk: four groups for each thread of a block, 64 bytes of sixteen-bit elements.
const LEAST: u64 = 8192;

/// Chunks that a set of one tensor is cut into at most: enough to fill any GPU, few enough to be summed up by one block.
const MOST: u64 = 4096;

/// Counts chunks, row by row.
///
/// The length of a chunk depends only on the set, so that sums are the same on every GPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunks {
    pub(crate) len: u64,
    pub(crate) count: u64,
}

impl Chunks {
    /// Makes an empty count for a set of this number of elements.
    pub(crate) fn of(elements: u64) -> Self {
        let len = elements.div_ceil(MOST).next_power_of_two().max(LEAST);
        Self { len, count: 0 }
    }

    /// Adds a row of `len` elements, and returns the number of its first chunk.
    pub(crate) fn add(&mut self, len: u64) -> u64 {
        let first = self.count;
        self.count += len.div_ceil(self.len);
        first
    }

    /// Number of blocks, one for each chunk.
    pub(crate) fn blocks(&self) -> u32 {
        u32::try_from(self.count).unwrap_or(u32::MAX)
    }
}

/// Rows of a kernel's argument, one for each tensor; chunks are counted as rows are added.
#[derive(Clone, Debug)]
pub(crate) struct Rows<Row> {
    pub(crate) rows: Vec<Row>,
    pub(crate) chunks: Chunks,
}

impl<Row: Pod> Rows<Row> {
    /// Makes an empty list of rows for a set of this number of elements.
    pub(crate) fn of(elements: u64) -> Self {
        Self { rows: Vec::new(), chunks: Chunks::of(elements) }
    }

    /// Adds the row of a tensor of `len` elements, made of the number of its first chunk.
    pub(crate) fn add(&mut self, len: usize, row: impl FnOnce(u64) -> Row) {
        let first_chunk = self.chunks.add(len as u64);
        self.rows.push(row(first_chunk));
    }

    /// Puts `kernel` in the stream, a block for each chunk, or nothing if there is none. The kernel takes the rows and their
    /// count, and then the arguments in `more`.
    pub(crate) fn launch(
        &self,
        cuda: &Cuda,
        kernel: &'static str,
        more: &[Arg<'_>],
    ) -> Result<(), Error> {
        match self.chunks.blocks() {
            0 => Ok(()),
            blocks => self.launch_blocks(cuda, kernel, blocks, more),
        }
    }

    /// Puts `kernel` in the stream with this number of blocks of the kernels' usual size.
    pub(crate) fn launch_blocks(
        &self,
        cuda: &Cuda,
        kernel: &'static str,
        blocks: u32,
        more: &[Arg<'_>],
    ) -> Result<(), Error> {
        let table = cuda.table(&self.rows)?;
        let count = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        let args = [&[Arg::Address(table.address()), Arg::U32(count)], more].concat();
        cuda.launch(kernel, Grid { blocks, threads: THREADS }, &args)
    }
}

/// Rows of several kernels, each launched with the rows of its own tensors.
#[derive(Debug)]
pub(crate) struct RowsByKernel<Row> {
    elements: u64,
    kernels: Vec<(&'static str, Rows<Row>)>,
}

impl<Row: Pod> RowsByKernel<Row> {
    /// Makes an empty list of rows for a set of this number of elements.
    pub(crate) fn of(elements: u64) -> Self {
        Self { elements, kernels: Vec::new() }
    }

    /// Returns the rows of `kernel`.
    pub(crate) fn get(&mut self, kernel: &'static str) -> &mut Rows<Row> {
        let known = self.kernels.iter().position(|(name, _)| *name == kernel);
        let place = known.unwrap_or(self.kernels.len());
        if known.is_none() {
            self.kernels.push((kernel, Rows::of(self.elements)));
        }
        &mut self.kernels[place].1
    }

    /// Iterates over the rows of all kernels.
    pub(crate) fn rows_mut(&mut self) -> impl Iterator<Item = &mut Row> {
        self.kernels.iter_mut().flat_map(|(_, rows)| &mut rows.rows)
    }

    /// Iterates over the kernels and their rows.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&'static str, &Rows<Row>)> {
        self.kernels.iter().map(|(kernel, rows)| (*kernel, rows))
    }
}

/// Returns the address of the word that says whether an entry is present, or 0 if the host knows that it is.
pub(crate) fn flag(grads: &Gradients, place: usize) -> u64 {
    grads.present.as_ref().map_or(0, |words| words.address() + 4 * place as u64)
}

/// Returns the number of a gradient's type, or an error if the type has no `f32` arithmetic.
pub(crate) fn supported(what: &'static str, grad: &Tensor) -> Result<u32, Error> {
    code(what, binade_gpu::trained::<Cuda>(what, grad.dtype())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_row_has_no_chunk_and_the_next_begins_where_it_would() {
        let mut chunks = Chunks::of(9000);
        assert_eq!([0, 8192, 0, 808].map(|len| chunks.add(len)), [0, 0, 1, 1]);
        assert_eq!((chunks.len, chunks.count), (8192, 2));
    }

    #[test]
    fn a_large_set_has_long_chunks() {
        let mut chunks = Chunks::of(1 << 33);
        assert_eq!((chunks.add(1 << 33), chunks.count, chunks.len), (0, 4096, 1 << 21));
    }
}
