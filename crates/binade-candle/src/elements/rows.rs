//! Rows of a table: read out of a parameter or a sparse gradient, and written back.

use super::{Elements, trainable};
use crate::{Error, device::mismatch, read::read};
use binade_core::{Gradient, HostRows, MatchError, SparseGradient, SparseRows};
use binade_master_weights::gathered;
use candle_core::{DType, Device, Result as CandleResult, Shape, Tensor};
use std::sync::Arc;

const ORDER: &str =
    "its sparse gradient needs rows of the parameter, each once, in ascending order";

impl Elements {
    /// Copies the elements of a gradient; those of its rows, if it is sparse.
    pub(crate) fn read_gradient(
        name: &Arc<str>,
        gradient: &Gradient<Tensor>,
    ) -> Result<Self, Error> {
        let SparseGradient { values, rows } = match gradient {
            Gradient::Dense(tensor) => return Self::read(name, tensor),
            Gradient::Sparse(sparse) => sparse,
        };
        let indices = (crate::dtype::dtype(rows.indices.dtype()), rows.indices.dims());
        rows.check(name, indices, values.dims()).map_err(mismatch)?;
        let all: Vec<i64> = read(&rows.indices)?;
        let mut own = Self::read(name, values)?;
        let placed = all.iter().enumerate().filter(|(_, row)| **row != -1);
        let placed = placed.map(|(place, row)| Some((place, usize::try_from(*row).ok()?)));
        let refused = || mismatch(MatchError { parameter: name.clone(), why: ORDER });
        let (kept, moved): (Vec<_>, Vec<_>) =
            placed.collect::<Option<Vec<_>>>().ok_or_else(refused)?.into_iter().unzip();
        let ascend = moved.is_sorted_by(|row, next| row < next);
        if !(ascend && moved.last().is_none_or(|last| *last < rows.shape[0])) {
            return Err(refused());
        }
        own.rows = HostRows { indices: Some(moved.into()), shape: rows.shape.clone() };
        own.values = gathered(&own.values, &kept, own.rows.width());
        Ok(own)
    }

    /// Copies these rows of a parameter.
    pub(super) fn read_rows(
        name: &Arc<str>,
        tensor: &Tensor,
        rows: &Arc<[usize]>,
    ) -> Result<Self, Error> {
        let (shape, device) = (tensor.shape().clone(), tensor.device().clone());
        let place = Self::new(trainable(name, tensor)?, Vec::new(), (shape, device));
        let values = if rows.is_empty() {
            Vec::new()
        } else {
            let found = tensor.detach().index_select(&indices(rows, tensor.device())?, 0)?;
            read(&found.to_dtype(DType::F32)?)?
        };
        let rows = HostRows { indices: Some(rows.clone()), ..place.rows };
        Ok(Self { values, rows, ..place })
    }

    /// Makes a gradient of these elements.
    pub(crate) fn to_gradient(&self) -> Result<Gradient<Tensor>, Error> {
        let values = self.to_tensor()?;
        let Some(rows) = &self.rows.indices else { return Ok(Gradient::Dense(values)) };
        let rows =
            SparseRows { indices: indices(rows, &self.device)?, shape: self.dims().to_vec() };
        Ok(Gradient::Sparse(SparseGradient { values, rows }))
    }

    /// Writes these elements to their rows of a parameter. A `Var` is set, so that its other holders see them. Otherwise `place` becomes a copy.
    pub(super) fn put_in_rows(&self, rows: &[usize], place: &mut Tensor) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        if !place.is_variable() {
            *place = place.detach().copy()?;
        }
        let new = self.to_tensor()?;
        let mut column = vec![1; new.rank()];
        column[0] = rows.len();
        let indices = indices(rows, &self.device)?.reshape(column)?;
        Ok(place.scatter_set(&indices.broadcast_as(new.shape())?.contiguous()?, &new, 0)?)
    }

    /// Returns the shape of the values.
    pub(super) fn own_shape(&self) -> Shape {
        let mut dims = self.dims().to_vec();
        if let (Some(rows), Some(first)) = (&self.rows.indices, dims.first_mut()) {
            *first = rows.len();
        }
        dims.into()
    }
}

fn indices(rows: &[usize], device: &Device) -> CandleResult<Tensor> {
    let indices: Vec<i64> = rows.iter().map(|row| row.cast_signed() as i64).collect();
    Tensor::from_slice(&indices, indices.len(), device)
}
