//! Refused configurations of an optimizer.

use crate::{MasterStore, UpdateRule};
use binade_core::{DType, Error, ErrorKind};
use std::{collections::HashSet, sync::Arc};

/// Error of a configuration that does not fit the parameters.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// A name that no parameter has.
    #[error(
        "the configuration names `{0}`, and no parameter has that name; look for a typing error"
    )]
    UnknownParameter(String),
    /// A name of state in bf16 that no rule of the configuration keeps.
    #[error(
        "the configuration keeps `{0}` in bf16, and no rule of it has state of that name; `UpdateRule::moment_names` lists them"
    )]
    UnknownState(String),
    /// State in bf16 on a device that keeps it in `f32`.
    #[error(
        "the {device} backend keeps state of `{rule}` in f32, and the configuration keeps `{name}` in bf16: leave it out of \
         `with_bf16_state`, or train on a device in host memory"
    )]
    State {
        /// The device's name.
        device: &'static str,
        /// Name of the rule.
        rule: &'static str,
        /// Name of the state.
        name: &'static str,
    },
    /// Two parameters with one name: a gradient would be ambiguous.
    #[error("two parameters are called `{0}`; give each a name of its own")]
    DuplicateParameter(String),
    /// A parameter that is to join, and is there.
    #[error("`{0}` is in the optimizer already; give the parameter that joins another name")]
    Joined(String),
    /// A store that cannot keep masters of a parameter's type.
    #[error(
        "`{parameter}` is stored as {stored}, of which `MasterStore::{store:?}` keeps no masters: it takes bf16 alone; \
         store the parameter as bf16, as `with_storage` does, or choose another store"
    )]
    Store {
        /// The parameter.
        parameter: Arc<str>,
        /// Store of the configuration.
        store: MasterStore,
        /// The parameter's type.
        stored: DType,
    },
    /// Another store, storage or type of state than the optimizer was started with.
    #[error(
        "the new configuration has another `MasterStore`, storage or state in bf16, and none of them can change in a running optimizer: \
         derive it from the one in force, as `config.with_lr(…)` does, or start a new optimizer"
    )]
    Stored,
    /// Another number of moments.
    #[error(
        "`{parameter}` has {kept} moments and the new rule needs {needed}; start a new optimizer to change the rule's kind"
    )]
    Moments {
        /// The parameter.
        parameter: Arc<str>,
        /// Moments kept.
        kept: usize,
        /// Moments the rule needs.
        needed: usize,
    },
    /// Running norm that one of two rules keeps, where both have as many moments.
    #[error(
        "`{parameter}` is moved by `{old}` and the new rule is `{new}`, and one of them alone keeps a running norm; start a new \
         optimizer to change the rule's kind"
    )]
    Norm {
        /// The parameter.
        parameter: Arc<str>,
        /// Name of the rule in force.
        old: &'static str,
        /// Name of the new rule.
        new: &'static str,
    },
    /// Rule that clips all gradients together, where gradients lie on several devices.
    #[error(
        "the update rule `{0}` clips by the norm of all gradients, which lie on several devices: set its `max_grad_norm` to 0, and clip \
         by `clip_norm` before the step"
    )]
    AllGradients(&'static str),
    /// Rule whose constants depend on the count of steps in a way that a device does not compute.
    #[error(
        "the {device} backend counts steps by the first constant, 1 in the first step and 0 later, or by the rule's `correction`, and the \
         constants of `{rule}` depend on the count otherwise: have them do so, or train on a device in host memory"
    )]
    Counted {
        /// The device's name.
        device: &'static str,
        /// Name of the rule.
        rule: &'static str,
    },
    /// Rule without a kernel on a device.
    #[error(
        "the {device} backend has no kernel for the update rule `{rule}`; it steps by {}: take one of these, or train on a device in \
         host memory{}", UpdateRule::NAMES.join(", "), remedy(.device)
    )]
    Rule {
        /// The device's name.
        device: &'static str,
        /// Name of the rule.
        rule: &'static str,
    },
}

/// Returns what else helps: CUDA takes kernels of a program's own rules.
fn remedy(device: &str) -> &'static str {
    match device {
        "cuda" => ", or give the device its kernel, as by `binade_cuda::add_rule`",
        _ => "",
    }
}

impl Error for ConfigError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Rule { .. }
            | Self::Counted { .. }
            | Self::State { .. }
            | Self::AllGradients(_) => ErrorKind::Unsupported,
            _ => ErrorKind::Mismatch,
        }
    }
}

/// Returns the set of names, or an error if one comes twice.
pub(crate) fn distinct<'p>(
    names: impl Iterator<Item = &'p str>,
) -> Result<HashSet<&'p str>, ConfigError> {
    let mut known = HashSet::new();
    for name in names {
        if !known.insert(name) {
            return Err(ConfigError::DuplicateParameter(name.to_owned()));
        }
    }
    Ok(known)
}
