//! Telling and changing element types.

use super::{Parts, Replicas};
use crate::{Error, Tensor};
use binade_autocast::Autocast;
use binade_core::DType;
use std::borrow::Cow;

impl Autocast for Replicas {
    /// That of one device's part, which all share; parts come from one call.
    fn dtype(&self, tensor: &Parts<Tensor>) -> DType {
        tensor.iter().next().map_or(DType::F32, Tensor::dtype)
    }

    fn cast(&self, tensor: &Parts<Tensor>, to: DType) -> Result<Parts<Tensor>, Error> {
        self.each(|place, cuda| cuda.cast(tensor.on(place)?, to))
    }

    /// That of one device's part: what each of them computes.
    fn extents<'t>(&self, tensor: &'t Parts<Tensor>) -> Option<Cow<'t, [usize]>> {
        tensor.iter().next().map(|part| part.shape().into())
    }

    /// On all devices together.
    fn elements(&self, tensor: &Parts<Tensor>) -> Option<u64> {
        Some(tensor.iter().map(|part| part.len() as u64).sum())
    }
}
