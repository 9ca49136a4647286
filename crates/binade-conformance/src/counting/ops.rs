//! Operations, casts, uploads and downloads.

use super::{Counting, CountingError};
use binade_autocast::{Autocast, CacheKey};
use binade_core::DType;
use binade_ops::{Download, Shaped, Upload, forward_ops};
use std::borrow::Cow;

forward_ops!([D] Counting<D> => D, launch);

impl<D: Shaped> Shaped for Counting<D> {
    fn shape(&self, tensor: &D::Tensor) -> Vec<usize> {
        self.device.shape(tensor)
    }

    fn element_count(&self, tensor: &D::Tensor) -> usize {
        self.device.element_count(tensor)
    }
}

impl<D: Autocast> Autocast for Counting<D> {
    fn dtype(&self, tensor: &D::Tensor) -> DType {
        self.device.dtype(tensor)
    }

    fn cast(&self, tensor: &D::Tensor, to: DType) -> Result<D::Tensor, Self::Error> {
        self.launch("cast", |device| device.cast(tensor, to))
    }

    fn cache_key(&self, tensor: &D::Tensor) -> Option<CacheKey> {
        self.device.cache_key(tensor)
    }

    fn extents<'t>(&self, tensor: &'t D::Tensor) -> Option<Cow<'t, [usize]>> {
        self.device.extents(tensor)
    }

    fn elements(&self, tensor: &D::Tensor) -> Option<u64> {
        self.device.elements(tensor)
    }
}

impl<D: Upload> Upload for Counting<D> {
    fn upload(
        &self,
        values: &[f32],
        shape: &[usize],
        dtype: DType,
    ) -> Result<D::Tensor, Self::Error> {
        self.send("upload", |device| device.upload(values, shape, dtype))
    }

    fn upload_i64(&self, values: &[i64], shape: &[usize]) -> Result<D::Tensor, Self::Error> {
        self.send("upload_i64", |device| device.upload_i64(values, shape))
    }
}

impl<D: Download> Download for Counting<D> {
    #[track_caller]
    fn download(&self, tensor: &D::Tensor) -> Result<Vec<f32>, CountingError<D::Error>> {
        self.look("download", |device| device.download(tensor))
    }
}
