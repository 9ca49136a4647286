//! Clipping by groups.

use crate::gradients::{inspect, multiplied};
use crate::{Error, Gradients, Tensor};
use binade_core::{FoundInf, Named};
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
        let own = |place: &Option<usize>| place.and_then(|place| factors.get(place).copied());
        *grads = shrunk(grads, places.iter().map(own))?;
    }
    Ok(())
}

/// Returns the gradients of a group, as a set that shares their elements.
fn members(grads: &Gradients, places: &[Option<usize>], group: usize) -> Gradients {
    let own = grads.entries.iter().zip(places).filter(|(_, place)| **place == Some(group));
    let entries: Vec<_> = own.map(|(entry, _)| entry.clone()).collect();
    Gradients { factor: grads.factor, ..entries.into() }
}

/// Returns the set in `f32`, each gradient times the set's factors and then its own.
fn shrunk(
    grads: &Gradients,
    factors: impl Iterator<Item = Option<f32>>,
) -> Result<Gradients, Error> {
    let one = |(entry, own): (&Named<Option<Tensor>>, Option<f32>)| {
        let factor = Factor { clip: own.unwrap_or(1.0), ..grads.factor };
        let value = entry.value.as_ref().map(|grad| multiplied(grad, factor)).transpose()?;
        Ok(Named { name: entry.name.clone(), value })
    };
    Ok(grads.entries.iter().zip(factors).map(one).collect::<Result<Vec<_>, Error>>()?.into())
}
