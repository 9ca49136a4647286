//! From the host to the devices, and back.

use super::{Parts, Replicas};
use crate::{Cuda, CudaError, Error, Tensor};
use binade_core::DType;
use binade_gpu::check_length;
use binade_ops::{Download, Shaped, Upload, shape::element_count};

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
    /// The first device's part; each device has its own in [`Parts::on`].
    fn download(&self, tensor: &Parts<Tensor>) -> Result<Vec<f32>, Error> {
        self.first(|cuda| cuda.download(tensor.on(0)?))
    }
}

impl Shaped for Replicas {
    /// That of one device's part, which all share.
    fn shape(&self, tensor: &Parts<Tensor>) -> Vec<usize> {
        tensor.iter().next().map(|part| part.shape().to_vec()).unwrap_or_default()
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
    /// As [`shard`](Self::shard).
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
        Ok(self.each(|place, cuda| cuda.download(tensor.on(place)?))?.into_inner())
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
    /// Of each device.
    rows: usize,
    /// The shape of one.
    row: Vec<usize>,
}

impl<'v, T> Shards<'v, T> {
    fn of(&self, place: usize) -> (&'v [T], Vec<usize>) {
        let each = self.rows * element_count(&self.row);
        let values = self.values.get(place * each..(place + 1) * each).unwrap_or_default();
        (values, [&[self.rows], &self.row[..]].concat())
    }
}
