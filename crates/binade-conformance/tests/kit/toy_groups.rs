//! The toy's clipping by groups, as one would first write it down.

use crate::toy::{Plain, Toy};
use crate::toy_sets::{each, norm};
use binade_conformance::{Clip, Refusal, Subject, Unscaled};
use binade_core::{ErrorKind, NamedGrads};
use binade_grad_scaler::{ClipGroup, ScaleState, check_group_norm, clip_factor};

/// What clipping by groups begins with: gradients unscaled, and clipped as `first` says.
pub(crate) fn begun(
    grads: NamedGrads<Plain>,
    scale: ScaleState,
    first: Option<Clip>,
) -> Result<Unscaled<Plain>, Refusal> {
    match first {
        Some(clip) => Toy.clip(grads, scale, clip),
        None => Toy.unscale(grads, scale),
    }
}

pub(crate) fn clip(
    grads: NamedGrads<Plain>,
    scale: ScaleState,
    first: Option<Clip>,
    groups: &[ClipGroup],
) -> Result<Unscaled<Plain>, Refusal> {
    refuse(&grads, groups)?;
    let Unscaled { mut grads, mut found } = begun(grads, scale, first)?;
    for group in groups {
        let norm = norm(&members(&grads, group), group.norm);
        check_group_norm(&mut found, group, norm);
        shrink(&mut grads, group, clip_factor(norm, group.max));
    }
    Ok(Unscaled { grads, found })
}

/// Groups that do not fit.
pub(crate) fn refuse(grads: &NamedGrads<Plain>, groups: &[ClipGroup]) -> Result<(), Refusal> {
    let wrong = |kind, what: String| Err(Refusal::Rejected(kind, what));
    if let Some(group) = groups.iter().find(|group| group.max.is_nan() || group.max <= 0.0) {
        return wrong(ErrorKind::InvalidArgument, format!("a limit of {}", group.max));
    }
    let mut names: Vec<&String> = groups.iter().flat_map(|group| &group.parameters).collect();
    if let Some(name) = names.iter().find(|name| grads.iter().all(|grad| *grad.name != ***name)) {
        return wrong(ErrorKind::Mismatch, format!("no gradient is called {name}"));
    }
    names.sort();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => wrong(ErrorKind::Mismatch, format!("{} twice", pair[0])),
        None => Ok(()),
    }
}

pub(crate) fn members(grads: &NamedGrads<Plain>, group: &ClipGroup) -> NamedGrads<Plain> {
    grads.iter().filter(|grad| is_of(group, &grad.name)).cloned().collect()
}

/// Multiplies a group's gradients.
pub(crate) fn shrink(grads: &mut NamedGrads<Plain>, group: &ClipGroup, factor: f32) {
    for grad in grads.iter_mut().filter(|grad| is_of(group, &grad.name)) {
        let mut one = vec![grad.clone()];
        each(&mut one, |x| x * factor);
        *grad = one.swap_remove(0);
    }
}

pub(crate) fn is_of(group: &ClipGroup, name: &str) -> bool {
    group.parameters.iter().any(|parameter| parameter == name)
}
