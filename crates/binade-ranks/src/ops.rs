//! Operations, casts, uploads and downloads. Each rank does its own.

use crate::{Group, Ranks};
use binade_autocast::{Autocast, CacheKey};
use binade_core::ops::{Download, Shaped, Upload, forward_ops};
use binade_core::{DType, Handle};
use std::borrow::Cow;

forward_ops!([D, G: Group] Ranks<D, G> => D, forward);

impl<D: Shaped, G: Group> Shaped for Ranks<D, G> {
    fn shape(&self, tensor: &D::Tensor) -> Vec<usize> {
        self.device().shape(tensor)
    }

    fn element_count(&self, tensor: &D::Tensor) -> usize {
        self.device().element_count(tensor)
    }
}

impl<D: Autocast, G: Group> Autocast for Ranks<D, G> {
    fn dtype(&self, tensor: &D::Tensor) -> DType {
        self.device().dtype(tensor)
    }

    fn cast(&self, tensor: &D::Tensor, to: DType) -> Result<D::Tensor, Self::Error> {
        self.alone(|device| device.cast(tensor, to))
    }

    fn cache_key(&self, tensor: &D::Tensor) -> Option<CacheKey> {
        self.device().cache_key(tensor)
    }

    fn version(&self, tensor: &D::Tensor) -> Option<u64> {
        self.device().version(tensor)
    }

    fn extents<'t>(&self, tensor: &'t D::Tensor) -> Option<Cow<'t, [usize]>> {
        self.device().extents(tensor)
    }

    fn elements(&self, tensor: &D::Tensor) -> Option<u64> {
        self.device().elements(tensor)
    }
}

impl<D: Upload, G: Group> Upload for Ranks<D, G> {
    fn upload(
        &self,
        values: &[f32],
        shape: &[usize],
        dtype: DType,
    ) -> Result<<D as Handle>::Tensor, Self::Error> {
        self.alone(|device| device.upload(values, shape, dtype))
    }

    fn upload_i64(
        &self,
        values: &[i64],
        shape: &[usize],
    ) -> Result<<D as Handle>::Tensor, Self::Error> {
        self.alone(|device| device.upload_i64(values, shape))
    }
}

impl<D: Download, G: Group> Download for Ranks<D, G> {
    fn download(&self, tensor: &D::Tensor) -> Result<Vec<f32>, Self::Error> {
        self.alone(|device| device.download(tensor))
    }
}
