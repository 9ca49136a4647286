//! Clipping by groups for a stranger's host tensor.

use super::native;
use crate::{ClipGroup, clip_factor};
use binade_core::{AmpTensor, FoundInf, HostDeviceError, NamedGrads};

pub(crate) fn clip<T: AmpTensor>(
    grads: &mut NamedGrads<T>,
    groups: &[ClipGroup],
    verdict: &mut FoundInf,
) -> Result<(), HostDeviceError<T::Error>> {
    let places = ClipGroup::places(groups, grads.iter().map(|grad| &*grad.name));
    let places = places.map_err(HostDeviceError::Train)?;
    for (group, of) in groups.iter().enumerate() {
        let norm = native::norm(of.norm, members(grads, &places, group));
        verdict.check_norm(&of.norm_name(), norm);
        let factor = clip_factor(norm, of.max);
        if factor != 1.0 {
            members(grads, &places, group).for_each(|grad| grad.map_f32(&mut |_, x| x * factor));
        }
    }
    Ok(())
}

/// The gradients of a group.
fn members<'g, T: AmpTensor>(
    grads: &'g mut NamedGrads<T>,
    places: &'g [Option<usize>],
    group: usize,
) -> impl Iterator<Item = &'g mut T> {
    let own = grads.iter_mut().zip(places).filter(move |(_, place)| **place == Some(group));
    own.filter_map(|(grad, _)| grad.value.as_mut())
}
