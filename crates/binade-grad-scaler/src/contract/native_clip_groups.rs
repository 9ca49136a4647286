//! Clipping by groups for a stranger's host tensor.

use super::native;
use crate::{ClipGroup, ClipGroupError, check_group_norm, clip_factor};
use binade_core::{AmpTensor, Finding, NamedGrads, NativeError};

pub(crate) fn clip<T: AmpTensor>(
    grads: &mut NamedGrads<T>,
    groups: &[ClipGroup],
    verdict: &mut Finding,
) -> Result<(), NativeError<T::Error>> {
    let places =
        ClipGroup::places(groups, grads.iter().map(|grad| &*grad.name)).map_err(refused)?;
    for (group, of) in groups.iter().enumerate() {
        let norm = native::norm(of.norm, members(grads, &places, group));
        check_group_norm(verdict, of, norm);
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

/// In the words that a host tensor's errors have.
fn refused<E>(error: ClipGroupError) -> NativeError<E> {
    let (parameter, why) = match error {
        ClipGroupError::Limit { max, .. } => {
            let value = f64::from(max);
            return NativeError::Invalid {
                what: "clip_groups",
                value,
                expected: "a limit above 0",
            };
        }
        ClipGroupError::Twice { parameter } => {
            (parameter, "groups to clip by name it twice; a parameter has one group at most")
        }
        ClipGroupError::Unknown { parameter } => {
            (parameter, "a group to clip by names it, and it is not among the gradients")
        }
    };
    NativeError::Mismatch { parameter: parameter.into(), why }
}
