//! Clipping whole sets. Only the device knows norms and factors.

use super::{Gradients, PresentGradient};
use crate::{BufferOf, Error, Found, Kernels, Result};
use binade_grad_scaler::{ClipGroup, Norm, ScaleState};

/// Groups of gradients that are to be measured.
#[derive(Debug)]
pub struct GroupClip<'a, D: Kernels> {
    /// The set.
    pub grads: &'a Gradients<D>,
    /// Each group with its gradients.
    pub groups: Vec<(&'a ClipGroup, Vec<PresentGradient<'a, D>>)>,
    /// Room for a factor of each group.
    pub factors: &'a BufferOf<D>,
    /// The finding to raise.
    pub verdict: &'a BufferOf<D>,
}

impl<D: Kernels> Gradients<D> {
    /// Shrinks the set so that its norm is at most `max`: implements `GradOps::clip_norm`.
    ///
    /// # Errors
    ///
    /// [`Error::Limit`] for a limit that is not positive, [`Error::Foreign`] for another handle's values; where the device
    /// fails.
    pub fn clip_norm(
        &mut self,
        device: &D,
        norm: Norm,
        max: f32,
        verdict: &mut Found<D>,
    ) -> Result<(), D> {
        check_limit::<D>("clip_norm", max)?;
        self.check_owner(device)?;
        device.check_owner(&verdict.bits)?;
        if !self.is_measured {
            // At a scale of 1; the finding is nobody's verdict.
            let one = device.upload_state(ScaleState::from_exponent(0))?;
            device.unscale(self, &one)?;
        }
        let verdict = verdict.own(device)?;
        // In its place all along: were it lost to an error, scaled gradients would pass for unscaled ones.
        let owed = match &mut self.owed {
            Some(owed) => owed,
            none => none.insert(device.unit_factors()?.clone()),
        };
        let owed = device.own(owed)?;
        device.run_clip(verdict, owed, norm, max)?;
        // A second clip is of what the first has left.
        self.is_measured = false;
        Ok(())
    }

    /// Brings each element within `max`: implements `GradOps::clip_value`.
    ///
    /// # Errors
    ///
    /// As for [`clip_norm`](Self::clip_norm).
    pub fn clip_value(&mut self, device: &D, max: f32) -> Result<(), D> {
        check_limit::<D>("clip_value", max)?;
        *self = self.apply_factors(device, max)?;
        Ok(())
    }

    /// Shrinks each group to its limit: implements `GradOps::clip_groups`. The gradients are `f32` tensors afterwards, whether or
    /// not a group was clipped.
    ///
    /// # Errors
    ///
    /// As for [`clip_norm`](Self::clip_norm); [`Error::Train`] for groups that do not go with the set.
    pub fn clip_groups(
        &mut self,
        device: &D,
        groups: &[ClipGroup],
        verdict: &mut Found<D>,
    ) -> Result<(), D> {
        let places = ClipGroup::places(groups, self.names().map(|name| &**name))?;
        self.check_owner(device)?;
        device.check_owner(&verdict.bits)?;
        for grad in self.present() {
            super::trained::<D>("clip gradients of", grad.tensor.dtype())?;
        }
        if groups.is_empty() {
            return Ok(());
        }
        let of_groups = device.buffer(size_of::<f32>() * groups.len())?;
        let verdict = verdict.own(device)?;
        let settled = match &self.owed {
            Some(_) if !D::MEASURES_OWED => Some(self.apply_factors(device, f32::INFINITY)?),
            _ => None,
        };
        let grads = settled.as_ref().unwrap_or(self);
        let groups = grads.by_group(groups, &places);
        let factors = &of_groups;
        device.run_group_norms(&GroupClip { grads, groups, factors, verdict })?;
        *self = grads.apply_factors_by(device, Some(factors), &places, f32::INFINITY)?;
        Ok(())
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
