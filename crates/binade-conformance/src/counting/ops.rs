//! Operations, casts, uploads and downloads.

use super::Counting;
use binade_autocast::{Autocast, CacheKey};
use binade_core::DType;
use binade_core::ops::{Download, Shaped, SparseEmbedding, ToDevice, Upload, forward_ops};
use std::borrow::Cow;

forward_ops!([D] Counting<D> => D, launch);

impl<D: Shaped> Shaped for Counting<D> {
    fn shape(&self, tensor: &D::Tensor) -> Vec<usize> {
        self.device.shape(tensor)
    }

    fn element_count(&self, tensor: &D::Tensor) -> usize {
        self.device.element_count(tensor)
    }

    fn beside(&self, tensor: &D::Tensor) -> Option<Self> {
        Some(Self { device: self.device.beside(tensor)?, tally: self.tally.clone() })
    }
}

impl<D: SparseEmbedding> SparseEmbedding for Counting<D> {
    forward! { launch unique_rows(indices: &[&D::Tensor], rows: usize) -> [D::Tensor; 2]; }
}

impl<D: ToDevice> ToDevice for Counting<D> {
    fn device_of(&self, tensor: &D::Tensor) -> usize {
        self.device.device_of(tensor)
    }

    forward! { launch to_device(tensor: &D::Tensor, device: usize) -> D::Tensor; }
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

    fn version(&self, tensor: &D::Tensor) -> Option<u64> {
        self.device.version(tensor)
    }

    fn extents<'t>(&self, tensor: &'t D::Tensor) -> Option<Cow<'t, [usize]>> {
        self.device.extents(tensor)
    }

    fn elements(&self, tensor: &D::Tensor) -> Option<u64> {
        self.device.elements(tensor)
    }
}

impl<D: Upload> Upload for Counting<D> {
    forward! {
        launch upload(values: &[f32], shape: &[usize], dtype: DType) -> D::Tensor;
        launch upload_i64(values: &[i64], shape: &[usize]) -> D::Tensor;
    }
}

impl<D: Download> Download for Counting<D> {
    forward! { look download(tensor: &D::Tensor) -> Vec<f32>; }
}
