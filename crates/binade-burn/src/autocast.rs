//! Casts.

use crate::{Burn, BurnTensor, Error};
use binade_autocast::Autocast;
use binade_core::{AmpTensor, DType};
use std::borrow::Cow;

impl Autocast for Burn {
    fn dtype(&self, tensor: &BurnTensor) -> DType {
        AmpTensor::dtype(tensor)
    }

    fn cast(&self, tensor: &BurnTensor, to: DType) -> Result<BurnTensor, Error> {
        Ok(AmpTensor::cast(tensor, to)?)
    }

    fn extents<'t>(&self, tensor: &'t BurnTensor) -> Option<Cow<'t, [usize]>> {
        Some(tensor.shape().into())
    }
}
