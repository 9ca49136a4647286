//! Clipping by groups.

use crate::gradients::inspect;
use crate::{Error, Gradients};
use binade_core::FoundInf;
use binade_grad_scaler::{ClipGroup, clip_factor};
use binade_master_weights::step::Factor;

/// Clips by groups. If a group is beyond its limit, all gradients are multiplied into `f32` tensors, since the factors of a set are
/// the same for all of its gradients.
pub(super) fn clip(
    grads: &mut Gradients,
    groups: &[ClipGroup],
    verdict: &mut FoundInf,
) -> Result<(), Error> {
    let places = ClipGroup::places(groups, grads.names().map(|name| &**name))?;
    if grads.factor.clip != 1.0 {
        *grads = grads.apply_factors()?;
    }
    let mut factors = Vec::new();
    for (place, group) in groups.iter().enumerate() {
        let members = members(grads, &places, place);
        let norm = inspect(&members, grads.factor.inverse)?.1.norm(group.norm);
        verdict.check_norm(&group.norm_name(), norm);
        factors.push(clip_factor(norm, group.max));
    }
    if factors.iter().any(|factor| *factor != 1.0) {
        let own = |place: usize| factors.get(places.get(place).copied().flatten()?).copied();
        let factor = |place| Factor { clip: own(place).unwrap_or(1.0), ..grads.factor };
        *grads = grads.multiplied_by(factor)?;
    }
    Ok(())
}

/// Returns the gradients of a group, as a set that shares their elements.
fn members(grads: &Gradients, places: &[Option<usize>], group: usize) -> Gradients {
    let own = grads.entries.iter().zip(places).filter(|(_, place)| **place == Some(group));
    let entries: Vec<_> = own.map(|(entry, _)| entry.clone()).collect();
    Gradients { factor: grads.factor, ..entries.into() }
}
