//! Gradients as values, with all factors applied in `f32`.

use super::{Gradients, PresentGradient};
use crate::{BufferOf, Kernels, Result, Tensor};
use binade_core::Named;

/// Pass over gradients that applies their pending factors and the factors of their groups.
#[derive(Debug)]
pub struct Materialise<'a, D: Kernels> {
    /// The gradients.
    pub grads: &'a Gradients<D>,
    /// `f32` tensors for the results, at the gradients' places.
    pub results: &'a [Named<Option<Tensor<D>>>],
    /// Factors of groups, one `f32` for each group, applied last.
    pub factors: Option<&'a BufferOf<D>>,
    /// The group of each entry of the set.
    pub groups: &'a [Option<usize>],
    /// The largest magnitude of a result.
    pub limit: f32,
}

impl<D: Kernels> Materialise<'_, D> {
    /// Returns the gradients with their results and the indices of their groups.
    pub fn entries(
        &self,
    ) -> impl Iterator<Item = (PresentGradient<'_, D>, &Tensor<D>, Option<u32>)> {
        self.grads.present().filter_map(|grad| {
            let result = self.results.get(grad.place)?.value.as_ref()?;
            let group = self.groups.get(grad.place).copied().flatten();
            Some((grad, result, group.and_then(|group| u32::try_from(group).ok())))
        })
    }
}

impl<D: Kernels> Gradients<D> {
    /// Returns the set with nothing left to multiply: new `f32` tensors, their elements brought within `limit`.
    pub(crate) fn apply_factors(&self, device: &D, limit: f32) -> Result<Self, D> {
        self.apply_factors_by(device, None, &[], limit)
    }

    /// Returns the set as [`apply_factors`](Self::apply_factors) does, with the factors of groups.
    pub(super) fn apply_factors_by(
        &self,
        device: &D,
        factors: Option<&BufferOf<D>>,
        groups: &[Option<usize>],
        limit: f32,
    ) -> Result<Self, D> {
        self.check_owner(device)?;
        let entries = self.unset_f32(device)?;
        let results = &*entries;
        device.run_materialise(&Materialise { grads: self, results, factors, groups, limit })?;
        let (rows, present) = (self.rows.clone(), self.present.clone());
        Ok(Self { entries, rows, present, owed: None, is_measured: false })
    }
}
