//! Kernels of a program's own update rules.

use super::{Declaration, ENTRIES, entries};
use crate::CudaError;
use binade_master_weights::UpdateRule;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// Kernel that a program has added.
#[derive(Debug)]
pub(super) struct Added {
    pub(super) declared: Declaration,
    pub(super) ptx: &'static str,
}

static ADDED: Mutex<Vec<(&'static str, &'static Added)>> = Mutex::new(Vec::new());

/// Returns the kernel of this name.
pub(super) fn entry(kernel: &str) -> Option<&'static Added> {
    let added = ADDED.lock().unwrap_or_else(PoisonError::into_inner);
    added.iter().find(|(name, _)| *name == kernel).map(|(_, added)| *added)
}

/// Adds the kernel of a [`CustomRule`](binade_master_weights::CustomRule) for all handles of the process: PTX with an entry of the rule's
/// name.
///
/// The PTX is compiled from a `.cu` that includes `kernels/lib/fused.cuh` and ends in `STEP_KERNEL(name, Rule)`, as `kernels/lion.cu` does.
/// `Rule` has the constants of a row in their order, nine at most. A rule that has a kernel already keeps it.
///
/// # Errors
///
/// [`CudaError::RuleKernel`] where the rule is one of Binade's, the name is a kernel's of Binade's, or the PTX has no such entry with the
/// parameters of a step.
pub fn add_rule(rule: &UpdateRule, ptx: &str) -> Result<(), CudaError> {
    let name = rule.name();
    let refuse = |cause| Err(CudaError::RuleKernel { rule: name, cause });
    if !matches!(rule, UpdateRule::Custom(_)) || ENTRIES.contains_key(name) {
        return refuse("the name is that of a kernel of Binade's: give the rule another");
    }
    if entry(name).is_some() {
        return Ok(());
    }
    let ptx: &'static str = ptx.to_owned().leak();
    let mut found = entries(&HashMap::from([(name, ptx)]));
    let step = ENTRIES.get("sgd").map(|step| &step.params);
    let Some(declared) = found.remove(name).filter(|entry| Some(&entry.params) == step) else {
        return refuse("the PTX has no entry of that name with the parameters of `STEP_KERNEL`");
    };
    let added: &'static Added = Box::leak(Box::new(Added { declared, ptx }));
    ADDED.lock().unwrap_or_else(PoisonError::into_inner).push((name, added));
    Ok(())
}
