//! Rows of a table with a sparse gradient: their numbers, their sums, and copies out of the table and back.

use super::sorted_indices::Outside;
use crate::{
    Cuda, Error, Result, Tensor,
    kernels::THREADS,
    launch::{Arg, Grid, args},
    memory::Buffer,
};
use binade_core::ops::{DTypeError, SparseEmbedding};
use binade_core::{DType, Op, SparseGradient, SparseRows};
use binade_gpu::{Driver, SparseParts};

/// Bytes of the widest unit in which rows are copied.
const WIDE: usize = 16;

impl SparseEmbedding for Cuda {
    fn unique_rows(
        &self,
        indices: &[&Tensor],
        rows: usize,
    ) -> std::result::Result<[Tensor; 2], Error> {
        self.check_owners(indices)?;
        if let Some(wrong) = indices.iter().find(|tensor| tensor.dtype() != DType::I64) {
            let (op, found) = (Op::EMBEDDING.name(), vec![wrong.dtype()]);
            return Err(DTypeError { op, found, expected: "i64 indices" }.into());
        }
        let mut all = match indices {
            [] => self.unset(DType::I64, &[0])?,
            [first, ..] => (*first).clone(),
        };
        for more in indices.iter().skip(1) {
            all = self.join_places(Some(&all), more, None)?;
        }
        self.unique(&all, rows, Outside::Fault)
    }
}

impl Cuda {
    /// Returns the rows that `indices` name, at the place of each's first sorted position, and the place of each index's row.
    fn unique(&self, indices: &Tensor, rows: usize, outside: Outside) -> Result<[Tensor; 2]> {
        let count = indices.len();
        let [unique, places] =
            [self.unset(DType::I64, &[count])?, self.unset(DType::I64, &[count])?];
        if count > 0 {
            let sorted = self.sorted(indices, rows, outside)?;
            let args = args![&sorted, indices, count, rows, &unique, &places];
            self.launch("unique_rows", grid(count), &args)?;
        }
        Ok([unique, places])
    }

    /// Returns the places of `sum` followed by those of `more`, which are empty if `found` is raised.
    fn join_places(
        &self,
        sum: Option<&Tensor>,
        more: &Tensor,
        found: Option<&Buffer>,
    ) -> Result<Tensor> {
        let counts = [sum.map_or(0, Tensor::len), more.len()];
        let joined = self.unset(DType::I64, &[counts[0] + counts[1]])?;
        if !joined.is_empty() {
            let args = args![sum, counts[0], more, counts[1], found, &joined];
            self.launch("join_rows", grid(joined.len()), &args)?;
        }
        Ok(joined)
    }

    /// Returns the rows of a table, and zeros for places without a row.
    pub(crate) fn gather_rows(&self, table: &Tensor, rows: &SparseRows<Tensor>) -> Result<Tensor> {
        let mut shape = table.shape().to_vec();
        shape[0] = rows.indices.len();
        let result = self.unset(table.dtype(), &shape)?;
        self.copy_rows("gather_rows", table, (&result, rows), |[count, width], bytes| {
            args![table, rows.shape[0], &rows.indices, count, width, bytes, &result].to_vec()
        })?;
        Ok(result)
    }

    /// Puts rows into a table, unless `found` is raised.
    pub(crate) fn scatter_rows(
        &self,
        values: &Tensor,
        rows: &SparseRows<Tensor>,
        found: Option<&Buffer>,
        table: &Tensor,
    ) -> Result {
        self.copy_rows("scatter_rows", table, (values, rows), |[count, width], bytes| {
            args![values, &rows.indices, count, width, bytes, found, table, rows.shape[0]].to_vec()
        })
    }

    /// Launches a copy of rows in the widest units that their beginnings and ends are multiples of.
    fn copy_rows<'a>(
        &self,
        kernel: &'static str,
        table: &Tensor,
        (values, rows): (&Tensor, &SparseRows<Tensor>),
        args: impl FnOnce([usize; 2], u32) -> Vec<Arg<'a>>,
    ) -> Result {
        let count = rows.indices.len();
        let bytes = rows.shape[1..].iter().product::<usize>() * table.dtype().bytes();
        if count * bytes == 0 {
            return Ok(());
        }
        let fits = |unit: usize| {
            let begins = |tensor: &Tensor| tensor.address().is_multiple_of(unit as u64);
            bytes.is_multiple_of(unit) && begins(table) && begins(values)
        };
        let unit = if fits(WIDE) { WIDE } else { table.dtype().bytes() };
        let width = bytes / unit;
        let unit = u32::try_from(unit).unwrap_or_default();
        self.launch(kernel, grid(count * width), &args([count, width], unit))
    }

    /// Returns the whole `f32` gradient of a sparse one.
    pub(crate) fn whole_rows(&self, values: &Tensor, rows: &SparseRows<Tensor>) -> Result<Tensor> {
        let whole = self.zeros_tensor(DType::F32, &rows.shape)?;
        self.scatter_rows(values, rows, None, &whole)?;
        Ok(whole)
    }

    /// Returns the sum of two sparse gradients in `f32`, or `sum` where `found` is raised.
    pub(crate) fn join_sparse(
        &self,
        sum: Option<SparseParts<'_, Self>>,
        (grad, rows): SparseParts<'_, Self>,
        found: &Buffer,
    ) -> Result<SparseGradient<Tensor>> {
        use binade_core::ops::Cat;
        let shape = rows.shape.clone();
        let before = sum.map(|(_, rows)| &rows.indices);
        let joined = self.join_places(before, &rows.indices, Some(found))?;
        let [indices, places] = self.unique(&joined, shape[0], Outside::Skip)?;
        let terms = match sum {
            Some((values, _)) => self.cat(&[values, grad], 0)?,
            None => grad.clone(),
        };
        let mut own = shape.clone();
        own[0] = joined.len();
        let values = self.unset(DType::F32, &own)?;
        let flat = values.reshape(&[own[0], own[1..].iter().product()])?;
        self.add_rows([&terms, &places], &flat, Outside::Skip)?;
        Ok(SparseGradient { values, rows: SparseRows { indices, shape } })
    }

    /// Gives an overflow of this parameter its index in the table.
    pub(crate) fn place_overflow(
        &self,
        found: &Buffer,
        parameter: u32,
        rows: &SparseRows<Tensor>,
    ) -> Result {
        let width = rows.shape[1..].iter().product::<usize>().max(1);
        let args = args![found, parameter, &rows.indices, width];
        self.launch("sparse_overflow", Grid::one(1), &args)
    }
}

/// Returns a grid of a thread an element.
fn grid(elements: usize) -> Grid {
    Grid::of(elements.div_ceil(THREADS as usize))
}
