//! Casts.

use crate::{Burn, BurnTensor, Error};
use binade_autocast::Autocast;
use binade_core::{AmpTensor, DType};

impl Autocast for Burn {
    fn dtype(&self, tensor: &BurnTensor) -> DType {
        AmpTensor::dtype(tensor)
    }

    fn cast(&self, tensor: &BurnTensor, to: DType) -> Result<BurnTensor, Error> {
        Ok(AmpTensor::cast(tensor, to)?)
    }

    fn elements(&self, tensor: &BurnTensor) -> Option<u64> {
        tensor.shape().iter().try_fold(1, |product: u64, len| {
            u64::try_from(*len).ok().and_then(|len| product.checked_mul(len))
        })
    }
}
