//! Gradients as values: multiplied, in `f32`.

use super::{Gradients, supported};
use crate::{Error, Tensor, parallel};
use binade_core::{DType, Named};
use binade_master_weights::step::Factor;

impl Gradients {
    /// Returns unscaled, clipped gradients in `f32`.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for gradients that are not bf16, f16 or f32.
    pub fn materialised(&self) -> Result<Vec<Named<Option<Tensor>>>, Error> {
        let one = |entry: &Named<Option<Tensor>>| {
            let value = entry.value.as_ref().map(|tensor| multiplied(tensor, self.factor));
            Ok(Named { name: entry.name.clone(), value: value.transpose()? })
        };
        self.entries.iter().map(one).collect()
    }

    /// Returns the set with its factors multiplied in.
    pub(crate) fn apply_factors(&self) -> Result<Self, Error> {
        Ok(Self::from(self.materialised()?))
    }
}

/// Returns `tensor` in `f32`, times both factors.
pub(crate) fn multiplied(tensor: &Tensor, factor: Factor) -> Result<Tensor, Error> {
    supported(tensor, "materialise gradients of")?;
    let mut product = tensor.cast(DType::F32)?;
    if let (true, Some(values)) = (factor != Factor::ONE, product.as_mut_slice::<f32>()) {
        parallel::blocks(values, |_, block| {
            for x in block {
                *x = factor.apply(*x);
            }
        });
    }
    Ok(product)
}
