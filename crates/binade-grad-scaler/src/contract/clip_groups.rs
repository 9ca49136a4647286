//! Clipping by groups: each group of parameters by a norm of its own.

use crate::Norm;
use binade_core::{Error, ErrorKind, Finding, Overflow};
use std::{collections::HashMap, sync::Arc};

/// Parameters whose gradients are clipped by the norm of these alone: torch's `clip_grad_norm_(group["params"], max)`.
#[derive(Clone, Debug, PartialEq)]
pub struct ClipGroup {
    /// Their names.
    pub parameters: Vec<String>,
    /// Which norm.
    pub norm: Norm,
    /// What it is at most afterwards.
    pub max: f32,
}

impl ClipGroup {
    /// `parameters`, clipped together so that their `norm` is at most `max`.
    pub fn new<S: Into<String>>(
        parameters: impl IntoIterator<Item = S>,
        norm: Norm,
        max: f32,
    ) -> Self {
        Self { parameters: parameters.into_iter().map(Into::into).collect(), norm, max }
    }

    /// What the group's norm goes by in a report where it is not finite: "norm of the group of `weight`", its first.
    pub fn norm_name(&self) -> Arc<str> {
        let first = self.parameters.first().map_or("nothing", String::as_str);
        format!("norm of the group of `{first}`").into()
    }

    /// Of each of a set's names, in its order, the place of its group among `groups`; `None` where no group names it.
    ///
    /// # Errors
    ///
    /// The first limit that is no positive number; the first parameter that is named twice; the first that is not among
    /// `names`.
    pub fn places<'n>(
        groups: &[Self],
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<Vec<Option<usize>>, ClipGroupError> {
        // NaN is not above 0 either.
        if let Some((group, of)) = groups.iter().enumerate().find(|(_, of)| !is_limit(of.max)) {
            return Err(ClipGroupError::Limit { group, max: of.max });
        }
        let mut places = HashMap::new();
        for (parameter, place) in named(groups) {
            if places.insert(parameter, place).is_some() {
                return Err(ClipGroupError::Twice { parameter: parameter.to_owned() });
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
                Err(ClipGroupError::Unknown { parameter: parameter.to_owned() })
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

/// Raises the verdict where a group's norm is not finite as `f32`, and otherwise leaves it as it is.
///
/// The oracle of what a device's clipping kernel writes.
pub fn check_group_norm(verdict: &mut Finding, group: &ClipGroup, norm: f64) {
    #[expect(clippy::cast_possible_truncation, reason = "rounds to f32 on purpose")]
    let norm = norm as f32;
    if !norm.is_finite() {
        verdict.overflow.get_or_insert_with(|| Overflow {
            parameter: group.norm_name(),
            index: 0,
            scaled: norm,
            unscaled: norm,
        });
    }
}

/// Groups that a set of gradients cannot be clipped by.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ClipGroupError {
    /// A limit that is no limit.
    #[error("clip_groups: group {group} has a limit of {max}, takes a positive number")]
    Limit {
        /// The group's place, from 0.
        group: usize,
        /// The number given.
        max: f32,
    },
    /// A parameter with two groups, or twice in one.
    #[error("clip_groups: `{parameter}` is named twice; a parameter belongs to one group at most")]
    Twice {
        /// Its name.
        parameter: String,
    },
    /// A parameter that the set does not list.
    #[error(
        "clip_groups: a group names `{parameter}`, which is not among the gradients; correct the name, or leave it out"
    )]
    Unknown {
        /// Its name.
        parameter: String,
    },
}

impl Error for ClipGroupError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Limit { .. } => ErrorKind::InvalidArgument,
            Self::Twice { .. } | Self::Unknown { .. } => ErrorKind::Mismatch,
        }
    }
}
