//! Clipping by groups: each group of parameters by its own norm.

use crate::Norm;
use binade_core::TrainError;
use std::{collections::HashMap, sync::Arc};

/// Group of parameters whose gradients are clipped by their common norm: torch's `clip_grad_norm_(group["params"], max)`.
///
/// # Examples
///
/// ```
/// use binade_grad_scaler::{ClipGroup, Norm};
///
/// let groups = [ClipGroup::new(["head.weight", "head.bias"], Norm::L2, 1.0)];
/// let places = ClipGroup::places(&groups, ["body.weight", "head.weight", "head.bias"]);
/// assert_eq!(places, Ok(vec![None, Some(0), Some(0)]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ClipGroup {
    /// Their names.
    pub parameters: Vec<String>,
    /// Norm of the group.
    pub norm: Norm,
    /// Largest norm after the clip.
    pub max: f32,
}

impl ClipGroup {
    /// Creates a group of `parameters`, clipped together so that their `norm` is at most `max`.
    pub fn new<S: Into<String>>(
        parameters: impl IntoIterator<Item = S>,
        norm: Norm,
        max: f32,
    ) -> Self {
        Self { parameters: parameters.into_iter().map(Into::into).collect(), norm, max }
    }

    /// Returns the name that a report has for the group's norm where it is not finite: "norm of the group of `weight`", its first.
    pub fn norm_name(&self) -> Arc<str> {
        let first = self.parameters.first().map_or("nothing", String::as_str);
        format!("norm of the group of `{first}`").into()
    }

    /// Returns, for each of a set's names in order, the place of its group in `groups`; `None` if no group names it.
    ///
    /// # Errors
    ///
    /// The first limit that is not a positive number; the first parameter that is named twice; the first that is not among `names`.
    pub fn places<'n>(
        groups: &[Self],
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<Vec<Option<usize>>, TrainError> {
        // NaN is not above 0 either.
        if let Some((group, of)) = groups.iter().enumerate().find(|(_, of)| !is_limit(of.max)) {
            return Err(TrainError::ClipLimit { group, max: of.max });
        }
        let mut places = HashMap::new();
        for (parameter, place) in named(groups) {
            if places.insert(parameter, place).is_some() {
                return Err(TrainError::ClipTwice { parameter: parameter.to_owned() });
            }
        }
        let mut left = places.clone();
        let found = names.into_iter().map(|name| {
            left.remove(name);
            places.get(name).copied()
        });
        let found = found.collect();
        match named(groups).find(|(parameter, _)| left.contains_key(parameter)) {
            None => Ok(found),
            Some((parameter, _)) => {
                Err(TrainError::ClipUnknown { parameter: parameter.to_owned() })
            }
        }
    }
}

fn is_limit(max: f32) -> bool {
    max > 0.0
}

/// Every name, with the place of its group.
fn named(groups: &[ClipGroup]) -> impl Iterator<Item = (&str, usize)> {
    groups
        .iter()
        .enumerate()
        .flat_map(|(place, group)| group.parameters.iter().map(move |name| (name.as_str(), place)))
}
