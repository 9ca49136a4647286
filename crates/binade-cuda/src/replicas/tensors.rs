//! Tensors of several devices: from the host and back, their types, and the operations on them, each device's on its own part.

use super::{Parts, Replicas};
use crate::{Cuda, CudaError, Error, Tensor};
use binade_autocast::Autocast;
use binade_core::DType;
use binade_core::ops::{
    Download, Invoke, OpInvocation, Shaped, Upload, forward_ops, shape::element_count,
};
use binade_gpu::check_length;
use std::borrow::Cow;

impl Upload for Replicas {
    /// Uploads equal values to every device.
    fn upload(
        &self,
        values: &[f32],
        shape: &[usize],
        dtype: DType,
    ) -> Result<Parts<Tensor>, Error> {
        self.each(|_, cuda| cuda.upload(values, shape, dtype))
    }

    /// Uploads equal integers to every device.
    fn upload_i64(&self, values: &[i64], shape: &[usize]) -> Result<Parts<Tensor>, Error> {
        self.each(|_, cuda| cuda.upload_i64(values, shape))
    }
}

impl Download for Replicas {
    /// Returns the first device's part. The other parts are in [`Parts`].
    fn download(&self, tensor: &Parts<Tensor>) -> Result<Vec<f32>, Error> {
        self.first(|cuda| cuda.download(tensor.on(0)?))
    }
}

impl Shaped for Replicas {
    /// Returns the shape of one device's part, which all share.
    fn shape(&self, tensor: &Parts<Tensor>) -> Vec<usize> {
        tensor.0.first().map(|part| part.shape().to_vec()).unwrap_or_default()
    }
}

impl Replicas {
    /// A batch split by rows, the first axis: the first device has the first rows.
    ///
    /// # Errors
    ///
    /// [`CudaError::Shard`] where the devices would not have as many each, [`Error::Length`] where `values` are not as many as
    /// `shape` says.
    pub fn shard(
        &self,
        values: &[f32],
        shape: &[usize],
        dtype: DType,
    ) -> Result<Parts<Tensor>, Error> {
        let shards = self.shards(values, shape)?;
        self.each(|place, cuda| {
            let (values, shape) = shards.of(place);
            cuda.upload(values, &shape, dtype)
        })
    }

    /// Distributes integers, as [`shard`](Self::shard) does values: labels, indices.
    ///
    /// # Errors
    ///
    /// The errors of [`shard`](Self::shard).
    pub fn shard_i64(&self, values: &[i64], shape: &[usize]) -> Result<Parts<Tensor>, Error> {
        let shards = self.shards(values, shape)?;
        self.each(|place, cuda| {
            let (values, shape) = shards.of(place);
            cuda.upload_i64(values, &shape)
        })
    }

    /// Every device's part, in their order: a batch that was split, or a loss on each. Waits for each device.
    ///
    /// # Errors
    ///
    /// When a device fails.
    pub fn download_each(&self, tensor: &Parts<Tensor>) -> Result<Vec<Vec<f32>>, Error> {
        Ok(self.each(|place, cuda| cuda.download(tensor.on(place)?))?.0)
    }

    fn shards<'v, T>(&self, values: &'v [T], shape: &[usize]) -> Result<Shards<'v, T>, Error> {
        check_length::<Cuda>("elements", values.len(), shape, 1)?;
        let devices = self.devices().len();
        let (rows, row) = shape.split_first().map_or((1, shape), |(rows, row)| (*rows, row));
        if !rows.is_multiple_of(devices) {
            return Err(Error::Driver(CudaError::Shard { rows, devices }));
        }
        Ok(Shards { values, rows: rows / devices, row: row.to_vec() })
    }
}

/// A batch and how much of it is whose.
struct Shards<'v, T> {
    values: &'v [T],
    /// Number of rows of each device.
    rows: usize,
    /// Shape of one row.
    row: Vec<usize>,
}

impl<'v, T> Shards<'v, T> {
    fn of(&self, place: usize) -> (&'v [T], Vec<usize>) {
        let each = self.rows * element_count(&self.row);
        let values = self.values.get(place * each..(place + 1) * each).unwrap_or_default();
        (values, [&[self.rows], &self.row[..]].concat())
    }
}

impl Autocast for Replicas {
    /// Returns the element type of one device's part, which all share: parts come from one call.
    fn dtype(&self, tensor: &Parts<Tensor>) -> DType {
        tensor.0.first().map_or(DType::F32, Tensor::dtype)
    }

    fn cast(&self, tensor: &Parts<Tensor>, to: DType) -> Result<Parts<Tensor>, Error> {
        self.each(|place, cuda| cuda.cast(tensor.on(place)?, to))
    }

    /// Returns the extents of one device's part, since each device computes with its own part.
    fn extents<'t>(&self, tensor: &'t Parts<Tensor>) -> Option<Cow<'t, [usize]>> {
        tensor.0.first().map(|part| part.shape().into())
    }

    /// Returns the number of elements on all devices together.
    fn elements(&self, tensor: &Parts<Tensor>) -> Option<u64> {
        Some(tensor.0.iter().map(|part| part.len() as u64).sum())
    }
}

forward_ops!([] Replicas);

/// Each device normalises its own part by its own statistics, and has running statistics of its own.
impl Invoke for Replicas {
    fn invoke(
        &self,
        call: &OpInvocation,
        operands: &[&Parts<Tensor>],
    ) -> Result<Vec<Parts<Tensor>>, Error> {
        let each = self.each(|place, cuda| {
            let parts = operands.iter().map(|operand| operand.on(place));
            let parts = parts.collect::<Result<Vec<_>, _>>()?;
            call.run(cuda, &parts).unwrap_or(Ok(Vec::new()))
        })?;
        Ok(by_result(&each))
    }
}

/// Turns a list of results for each device into a list of parts for each result.
fn by_result(each: &Parts<Vec<Tensor>>) -> Vec<Parts<Tensor>> {
    let results = each.0.iter().map(Vec::len).min().unwrap_or_default();
    let part = |result: usize| each.0.iter().map(|all| all[result].clone()).collect();
    (0..results).map(|result| Parts(part(result))).collect()
}
