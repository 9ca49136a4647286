//! Which gradient belongs to which parameter: the same answer, in the same words, on every device.

use crate::HostMasters;
use binade_core::{DType, MatchError, NoGradients, TrainError};
use std::{collections::HashMap, sync::Arc};

/// What matching looks at of a parameter.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Its name.
    pub name: &'a Arc<str>,
    /// The type it is stored in now.
    pub dtype: DType,
    /// Its shape now.
    pub shape: &'a [usize],
}

/// By parameter, the place of its gradient in `grads`, which has names, and shapes of those that are there.
///
/// # Errors
///
/// A gradient that no parameter is waiting for or that does not fit, and a parameter that has changed since its master was
/// made. Nothing has moved then.
pub fn matched<'a>(
    params: &[Facts<'_>],
    masters: &HostMasters,
    grads: impl Iterator<Item = (&'a Arc<str>, Option<&'a [usize]>)>,
) -> Result<Vec<Option<usize>>, MatchError> {
    let mut places: HashMap<&Arc<str>, usize> =
        params.iter().enumerate().map(|(place, param)| (param.name, place)).collect();
    let mut matched = vec![None; params.len()];
    for (number, (name, shape)) in grads.enumerate() {
        // Taken out, so that a second gradient for it finds nothing.
        let place = places.remove(name).ok_or_else(|| MatchError::new(name, STRANGER))?;
        if let Some(shape) = shape {
            fits(&params[place], masters, shape)?;
            matched[place] = Some(number);
        }
    }
    Ok(matched)
}

/// At least one gradient, where there are parameters that want some.
///
/// # Errors
///
/// [`TrainError::NoGradients`].
pub fn some<T>(matched: &[Option<T>]) -> Result<(), TrainError> {
    match matched.len() {
        parameters if parameters > 0 && matched.iter().all(Option::is_none) => {
            Err(NoGradients { parameters }.into())
        }
        _ => Ok(()),
    }
}

/// The parameter may have been replaced since its master was made.
fn fits(param: &Facts<'_>, masters: &HostMasters, grad: &[usize]) -> Result<(), MatchError> {
    let refuse = |why| Err(MatchError::new(param.name, why));
    let Some(slot) = masters.get(param.name) else { return refuse(LATE) };
    if grad != param.shape {
        return refuse(SHAPE);
    }
    if slot.len != param.shape.iter().product() {
        return refuse(LENGTH);
    }
    if masters.lacks_master(param.name, param.dtype) {
        return refuse(LOWERED);
    }
    if masters.is_retyped(param.name, param.dtype) {
        return refuse(RETYPED);
    }
    Ok(())
}

const LATE: &str = "it joined after its optimizer was made; start a new optimizer";
const LENGTH: &str = "it has another length than when its master was made; start a new optimizer";
pub(crate) const LOWERED: &str = "it was lowered after its optimizer was made, so that there is no master to keep small updates: lower it before, or by the plan's `with_storage`, and start a new optimizer";
pub(crate) const RETYPED: &str = "it has another type than when its optimizer was made, and what is kept beside it goes with that one; start a new optimizer";
const SHAPE: &str = "its gradient has another shape than the parameter";
const STRANGER: &str = "a gradient came for it that no parameter of the optimizer is waiting for: it has none of that name, or a gradient had come already";
