//! Operations on whole sets, and clipping. Only the device knows norms and factors.

use super::{Gradients, PresentGradient};
use crate::{BufferOf, Error, Found, Gpu, Kernels, Result};
use binade_core::{Named, NamedGrads, RawTensor, TensorSpec};
use binade_grad_scaler::{ClipGroup, GradOps, GradScaler, Norm, ScaleState, ScaleStore};

/// Groups of gradients whose norms are to be computed.
#[derive(Debug)]
pub struct GroupClip<'a, D: Kernels> {
    /// The set.
    pub grads: &'a Gradients<D>,
    /// Each group with its gradients.
    pub groups: Vec<(&'a ClipGroup, Vec<PresentGradient<'a, D>>)>,
    /// Room for a factor of each group.
    pub factors: &'a BufferOf<D>,
    /// Found-inf result to raise.
    pub verdict: &'a BufferOf<D>,
}

impl<D: Kernels> GradOps for Gpu<'_, D> {
    fn clip_norm(
        &self,
        grads: &mut Gradients<D>,
        norm: Norm,
        max: f32,
        verdict: &mut Found<D>,
    ) -> Result<(), D> {
        let device = self.0;
        check_limit::<D>("clip_norm", max)?;
        device.check_owner(&verdict.bits)?;
        let owed = grads.measure(device)?;
        device.run_clip(verdict.own(device)?, owed, norm, max)?;
        // A second clip is of what the first has left.
        grads.is_measured = false;
        Ok(())
    }

    fn clip_value(&self, grads: &mut Gradients<D>, max: f32) -> Result<(), D> {
        check_limit::<D>("clip_value", max)?;
        *grads = grads.apply_factors(self.0, max)?;
        Ok(())
    }

    fn accumulate(
        &self,
        sum: Option<Gradients<D>>,
        grads: Gradients<D>,
        found: &Found<D>,
    ) -> Result<Gradients<D>, D> {
        Gradients::accumulated(sum, self.0, &grads, &found.bits)
    }

    /// Shrinks each group to its limit. The gradients are `f32` tensors afterwards, whether or not a group was clipped.
    fn clip_groups(
        &self,
        grads: &mut Gradients<D>,
        groups: &[ClipGroup],
        verdict: &mut Found<D>,
    ) -> Result<(), D> {
        let device = self.0;
        let places = ClipGroup::places(groups, grads.names().map(|name| &**name))?;
        grads.check_owner(device)?;
        device.check_owner(&verdict.bits)?;
        for grad in grads.present() {
            super::trained::<D>("clip gradients of", grad.tensor.dtype())?;
        }
        if groups.is_empty() {
            return Ok(());
        }
        let factors = &device.buffer(size_of::<f32>() * groups.len())?;
        let verdict = verdict.own(device)?;
        let settled = match &grads.owed {
            Some(_) if !D::MEASURES_OWED => Some(grads.apply_factors(device, f32::INFINITY)?),
            _ => None,
        };
        let measured = settled.as_ref().unwrap_or(grads);
        let groups = measured.by_group(groups, &places);
        device.run_group_norms(&GroupClip { grads: measured, groups, factors, verdict })?;
        *grads = measured.apply_factors_by(device, Some(factors), &places, f32::INFINITY)?;
        Ok(())
    }

    fn grad_specs(&self, params: &Self::Params) -> Result<Vec<Named<TensorSpec>>, D> {
        Ok(Gradients::specs(params))
    }

    fn save_grads(&self, grads: &Gradients<D>) -> Result<NamedGrads<RawTensor>, D> {
        grads.saved(self.0)
    }

    fn load_grads(
        &self,
        _params: &Self::Params,
        saved: &NamedGrads<RawTensor>,
    ) -> Result<Gradients<D>, D> {
        Gradients::loaded(self.0, saved)
    }

    fn save_rows(&self, grads: &Gradients<D>) -> Result<Vec<Named<Vec<u64>>>, D> {
        grads.saved_rows(self.0)
    }

    fn load_rows(&self, grads: Gradients<D>, rows: &[Named<Vec<u64>>]) -> Result<Gradients<D>, D> {
        grads.with_rows(self.0, rows)
    }
}

impl<D: Kernels> Gradients<D> {
    /// Returns the set's own factors, with the norms of its values. They are computed now unless unscaling has computed them.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails, and [`Error::Foreign`] for a set of another handle.
    pub fn measure(&mut self, device: &D) -> Result<&BufferOf<D>, D> {
        self.check_owner(device)?;
        if !self.is_measured {
            // At a scale of 1; the finding is nobody's verdict.
            let one = Gpu(device).upload_state(ScaleState::from_exponent(0))?;
            Gpu(device).unscale(self, &one)?;
        }
        // In its place all along: were it lost to an error, scaled gradients would pass for unscaled ones.
        let owed = match &mut self.owed {
            Some(owed) => owed,
            none => none.insert(device.unit_factors()?.clone()),
        };
        device.own(owed)
    }

    /// Returns each group with its gradients.
    fn by_group<'a>(
        &'a self,
        groups: &'a [ClipGroup],
        places: &[Option<usize>],
    ) -> Vec<(&'a ClipGroup, Vec<PresentGradient<'a, D>>)> {
        let mut members: Vec<_> = groups.iter().map(|group| (group, Vec::new())).collect();
        for grad in self.present() {
            let place = places.get(grad.place).copied().flatten();
            if let Some((_, group)) = place.and_then(|place| members.get_mut(place)) {
                group.push(grad);
            }
        }
        members
    }
}

fn check_limit<D: Kernels>(what: &'static str, max: f32) -> Result<(), D> {
    if max > 0.0 { Ok(()) } else { Err(Error::Limit { what, value: max }) }
}
