//! Operations, casts, uploads and downloads, which each rank does separately.

use super::CudaRank;
use crate::{Error, Tensor};
use binade_autocast::{Autocast, CacheKey};
use binade_core::DType;
use binade_core::ops::{Download, Shaped, Upload, forward_ops};
use std::borrow::Cow;

forward_ops!([] CudaRank => forward);

impl Shaped for CudaRank {
    fn shape(&self, tensor: &Tensor) -> Vec<usize> {
        self.cuda().shape(tensor)
    }

    fn element_count(&self, tensor: &Tensor) -> usize {
        self.cuda().element_count(tensor)
    }
}

impl Autocast for CudaRank {
    fn dtype(&self, tensor: &Tensor) -> DType {
        self.cuda().dtype(tensor)
    }

    fn cast(&self, tensor: &Tensor, to: DType) -> Result<Tensor, Error> {
        self.alone(|cuda| cuda.cast(tensor, to))
    }

    fn cache_key(&self, tensor: &Tensor) -> Option<CacheKey> {
        self.cuda().cache_key(tensor)
    }

    fn version(&self, tensor: &Tensor) -> Option<u64> {
        self.cuda().version(tensor)
    }

    fn extents<'t>(&self, tensor: &'t Tensor) -> Option<Cow<'t, [usize]>> {
        self.cuda().extents(tensor)
    }

    fn elements(&self, tensor: &Tensor) -> Option<u64> {
        self.cuda().elements(tensor)
    }
}

impl Upload for CudaRank {
    fn upload(&self, values: &[f32], shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
        self.alone(|cuda| cuda.upload(values, shape, dtype))
    }

    fn upload_i64(&self, values: &[i64], shape: &[usize]) -> Result<Tensor, Error> {
        self.alone(|cuda| cuda.upload_i64(values, shape))
    }
}

impl Download for CudaRank {
    fn download(&self, tensor: &Tensor) -> Result<Vec<f32>, Error> {
        self.alone(|cuda| cuda.download(tensor))
    }
}
