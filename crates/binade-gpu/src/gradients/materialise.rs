//! Gradients as values: all factors multiplied in, in `f32`.

use super::{Factors, Gradients, PresentGradient};
use crate::{Kernels, Result, Tensor};
use binade_core::Named;

/// A pass over gradients that multiplies by all that they are owed and by the factors of their groups.
#[derive(Debug)]
pub struct Materialise<'a, D: Kernels> {
    /// The gradients.
    pub grads: &'a Gradients<D>,
    /// `f32` tensors for the results, at the gradients' places.
    pub results: &'a [Named<Option<Tensor<D>>>],
    /// Factors of groups.
    pub factors: Option<&'a Factors<'a, D>>,
    /// The largest magnitude of a result.
    pub limit: f32,
}

impl<D: Kernels> Materialise<'_, D> {
    /// The gradients with their results and the indices of their groups.
    pub fn entries(
        &self,
    ) -> impl Iterator<Item = (PresentGradient<'_, D>, &Tensor<D>, Option<u32>)> {
        self.grads.present().filter_map(|grad| {
            let result = self.results.get(grad.place)?.value.as_ref()?;
            let group = self.factors.and_then(|factors| factors.group(grad.place));
            Some((grad, result, group))
        })
    }
}

impl<D: Kernels> Gradients<D> {
    /// Returns the set with nothing left to multiply: new `f32` tensors, their elements brought within `limit`.
    pub(crate) fn apply_factors(&self, device: &D, limit: f32) -> Result<Self, D> {
        self.apply_factors_by(device, None, limit)
    }

    /// Returns the set as [`apply_factors`](Self::apply_factors) does, with the factors of groups multiplied in last.
    pub(super) fn apply_factors_by(
        &self,
        device: &D,
        factors: Option<&Factors<'_, D>>,
        limit: f32,
    ) -> Result<Self, D> {
        self.check_owner(device)?;
        let entries = self.unset_f32(device)?;
        device.run_materialise(&Materialise { grads: self, results: &entries, factors, limit })?;
        Ok(Self { entries, present: self.present.clone(), owed: None, is_measured: false })
    }
}
