//! Operands of a step: each parameter's gradient, its constants and its state, matched in the same way on every device.

use crate::{
    HostMasters, HostParamState, MasterStore, StepConstants, UpdateRule, host::Entry,
    param_state::Master,
};
use binade_core::{DType, MatchError, TrainError};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// Name, type and length of a parameter, as matching compares them.
#[derive(Clone, Copy, Debug)]
pub struct ParamInfo<'a> {
    /// Its name.
    pub name: &'a Arc<str>,
    /// The type it is stored in now.
    pub dtype: DType,
    /// Its shape now.
    pub shape: &'a [usize],
}

/// A gradient that a step moves a parameter by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Matched {
    /// The parameter's id, as [`HostMasters::id`] has it.
    pub id: usize,
    /// The gradient's place in its set.
    pub grad: usize,
}

/// Returns each parameter's gradient in `grads`, a list of names and of the shapes of existing gradients.
///
/// # Errors
///
/// A gradient that no parameter is waiting for or that does not fit, and a parameter that has changed since its master was made. Nothing has changed
/// then.
pub fn match_gradients<'a>(
    params: &[ParamInfo<'_>],
    masters: &HostMasters,
    grads: impl Iterator<Item = (&'a Arc<str>, Option<&'a [usize]>)> + Clone,
) -> Result<Vec<Option<Matched>>, MatchError> {
    let names = params.iter().map(|param| param.name);
    let places = places(masters, names, grads.clone().map(|(name, _)| name));
    let mut matched = vec![None; params.len()];
    for (grad, ((name, shape), place)) in grads.zip(places).enumerate() {
        let Place { param, id } = place
            .ok_or_else(|| MatchError { parameter: name.clone(), why: unplaced(masters, name) })?;
        if let Some(shape) = shape {
            let id = fits(&params[param], masters, id, shape)?;
            matched[param] = Some(Matched { id, grad });
        }
    }
    Ok(matched)
}

/// The parameter that waits for a gradient.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Place {
    /// Its place among the parameters.
    pub(crate) param: usize,
    /// Its id; `None` for one that joined after its optimizer was made.
    pub(crate) id: Option<usize>,
}

/// Returns the parameter that waits for each gradient; `None` where there is none, or a gradient had come already.
///
/// If parameters are in their first order, and gradients come in the same order with shared names, no name is compared. Otherwise names are looked
/// up.
pub(crate) fn places<'p, 'g>(
    masters: &HostMasters,
    params: impl Iterator<Item = &'p Arc<str>> + Clone,
    grads: impl Iterator<Item = &'g Arc<str>> + Clone,
) -> Vec<Option<Place>> {
    if masters.lists(params.clone()) {
        let mut waiting = params.clone().enumerate();
        let in_order = grads.clone().map(|name| {
            let (param, _) = waiting.find(|(_, param)| is_same(param, name))?;
            Some(Place { param, id: Some(param) })
        });
        let found: Vec<_> = in_order.collect();
        if found.iter().all(Option::is_some) {
            return found;
        }
    }
    let names = params.enumerate().map(|(place, name)| (&**name, place));
    let mut waiting: HashMap<&str, usize> = names.collect();
    // Removed, so that a second gradient for it finds nothing.
    let place =
        |name: &Arc<str>| Some(Place { param: waiting.remove(&**name)?, id: masters.id(name) });
    grads.map(place).collect()
}

/// Returns why no parameter waits for a gradient of this name.
pub(crate) fn unplaced(masters: &HostMasters, name: &str) -> &'static str {
    if masters.id(name).is_some() { TWICE } else { STRANGER }
}

/// At least one gradient, where there are parameters that want some.
///
/// # Errors
///
/// [`TrainError::NoGradients`].
pub fn require_gradients<T>(matched: &[Option<T>]) -> Result<(), TrainError> {
    match matched.len() {
        parameters if parameters > 0 && matched.iter().all(Option::is_none) => {
            Err(TrainError::NoGradients { parameters })
        }
        _ => Ok(()),
    }
}

/// Returns the id of a parameter that a gradient fits: it may have been replaced since its master was made.
fn fits(
    param: &ParamInfo<'_>,
    masters: &HostMasters,
    id: Option<usize>,
    grad: &[usize],
) -> Result<usize, MatchError> {
    let refuse = |why| Err(MatchError { parameter: param.name.clone(), why });
    let Some((id, slot)) = id.and_then(|id| Some((id, masters.slot(id)?))) else {
        return refuse(LATE);
    };
    if grad != param.shape {
        return refuse(SHAPE);
    }
    if slot.len != param.shape.iter().product() {
        return refuse(LENGTH);
    }
    if masters.lacks_master(slot, param.dtype) {
        return refuse(LOWERED);
    }
    if slot.is_retyped(param.dtype) {
        return refuse(RETYPED);
    }
    Ok(id)
}

impl HostMasters {
    /// Returns the constants of the next step of the parameter of this id, and its state.
    pub fn next(&mut self, id: usize) -> Option<(StepConstants, &mut HostParamState)> {
        self.kept.get_mut(id).map(Entry::next)
    }

    /// Returns [`next`](Self::next) of every parameter at once, by id: for steps side by side.
    pub fn next_of_all(&mut self) -> impl Iterator<Item = (StepConstants, &mut HostParamState)> {
        self.kept.iter_mut().map(Entry::next)
    }

    /// Returns true if a step needs the [norm of all gradients together](StepConstants::clipped).
    pub(crate) fn clips(&self) -> bool {
        self.kept.iter().any(|kept| kept.rule.needs_all_gradients())
    }

    /// Returns the rule of the parameter with this id.
    pub fn rule(&self, id: usize) -> Option<&UpdateRule> {
        self.kept.get(id).map(|kept| &kept.rule)
    }

    /// Returns the state of the parameter of this id.
    pub(crate) fn slot(&self, id: usize) -> Option<&HostParamState> {
        self.kept.get(id).map(|kept| &kept.slot)
    }

    /// Returns the parameters that are not among `names`, in their order.
    pub(crate) fn unlisted<'n>(
        &self,
        names: impl Iterator<Item = &'n Arc<str>> + Clone,
    ) -> Vec<Arc<str>> {
        if self.lists(names.clone()) {
            return Vec::new();
        }
        let listed: HashSet<&str> = names.map(|name| &**name).collect();
        let own = self.kept.iter().map(|kept| &kept.name);
        own.filter(|name| !listed.contains(&***name)).cloned().collect()
    }

    /// Returns true if `names` are those of the started parameters in order, so that places are ids. Names that are shared are not read.
    fn lists<'n>(&self, names: impl Iterator<Item = &'n Arc<str>>) -> bool {
        let mut kept = self.kept.iter();
        names.into_iter().all(|name| kept.next().is_some_and(|kept| is_same(&kept.name, name)))
            && kept.next().is_none()
    }

    /// Returns true if a parameter that is stored as `stored` now should have a master and has none: it was lowered after it was
    /// started, and updates smaller than its rounding would be lost.
    pub(crate) fn lacks_master(&self, slot: &HostParamState, stored: DType) -> bool {
        let kept = stored != DType::F32 && !matches!(self.config.store, MasterStore::NoMaster);
        kept && matches!(slot.master, Master::Nothing)
    }
}

impl Entry {
    fn next(&mut self) -> (StepConstants, &mut HostParamState) {
        (StepConstants::at(&self.rule, self.slot.applied), &mut self.slot)
    }
}

impl HostParamState {
    /// Returns true where its store's bits were made for another type than `stored`, the parameter's now, and mean nothing here.
    pub(crate) fn is_retyped(&self, stored: DType) -> bool {
        let bound = matches!(self.master, Master::Remainder(_) | Master::Compensation(_));
        bound && self.stored != stored
    }
}

/// Returns true where two names are the same; the letters of a shared one are not read.
fn is_same(a: &Arc<str>, b: &Arc<str>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

const LATE: &str = "it joined after its optimizer was made; start a new optimizer";
const LENGTH: &str = "it has another length than when its master was made; start a new optimizer";
pub(crate) const LOWERED: &str = "it was lowered after its optimizer was made, so that there is no master to keep small updates: lower it before, or by the configuration's `with_storage`, and start a new optimizer";
pub(crate) const RETYPED: &str = "it has another type than when its optimizer was made, and what is kept beside it goes with that one; start a new optimizer";
const SHAPE: &str = "its gradient has another shape than the parameter";
const STRANGER: &str = "a gradient came for it, and no parameter of the optimizer has that name; correct the name, or give one optimizer all parameters and move some by another rule, as a group";
const TWICE: &str = "two gradients came for it; give it one, such as their sum";

#[cfg(test)]
mod tests;
