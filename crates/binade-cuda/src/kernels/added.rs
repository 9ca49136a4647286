//! Kernels of a program's own update rules.

use super::{Declaration, ENTRIES, MODULES, entries};
use crate::CudaError;
use binade_master_weights::UpdateRule;
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Kernel that a program has added.
#[derive(Debug)]
pub(super) struct Added {
    pub(super) declared: Declaration,
    pub(super) ptx: &'static str,
}

/// A kernel, by the name of its rule.
type Entry = (&'static str, &'static Added);

static ADDED: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

fn list() -> MutexGuard<'static, Vec<Entry>> {
    ADDED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn find(added: &[Entry], kernel: &str) -> Option<&'static Added> {
    added.iter().find(|(name, _)| *name == kernel).map(|(_, added)| *added)
}

/// Returns the kernel of this name.
pub(super) fn entry(kernel: &str) -> Option<&'static Added> {
    find(&list(), kernel)
}

/// Adds the kernel of a [`CustomRule`](binade_master_weights::CustomRule) for all handles of the process: PTX with an entry of the rule's
/// name.
///
/// The PTX is compiled from a `.cu` that includes `kernels/lib/fused.cuh` and ends in `STEP_KERNEL(name, Rule)`, as `kernels/lion.cu` does.
/// `Rule` has the constants of a row in their order, nine at most. A kernel that was added is added again without effect.
///
/// # Errors
///
/// [`CudaError::RuleKernel`] if the rule is one of Binade's, the name belongs to a kernel or module of Binade or to another added kernel, or the PTX
/// has no such entry with the parameters of a step.
pub fn add_rule(rule: &UpdateRule, ptx: &str) -> Result<(), CudaError> {
    let name = rule.name();
    let refuse = |cause| Err(CudaError::RuleKernel { rule: name, cause });
    let is_module = MODULES.as_ref().is_ok_and(|modules| modules.contains_key(name));
    if !matches!(rule, UpdateRule::Custom(_)) || is_module || ENTRIES.contains_key(name) {
        return refuse("the name is that of a kernel of Binade's: give the rule another");
    }
    // The lock is held to the end, so that two threads cannot add two kernels with the same name.
    let mut all = list();
    if let Some(added) = find(&all, name) {
        return if added.ptx == ptx {
            Ok(())
        } else {
            refuse("a rule of that name has another: give each rule a name of its own")
        };
    }
    let mut found = entries(&HashMap::from([(name, ptx)]));
    let step = ENTRIES.get("sgd").map(|step| &step.params);
    let Some(declared) = found.remove(name).filter(|entry| Some(&entry.params) == step) else {
        return refuse("the PTX has no entry of that name with the parameters of `STEP_KERNEL`");
    };
    let ptx: &'static str = ptx.to_owned().leak();
    let added: &'static Added = Box::leak(Box::new(Added { declared, ptx }));
    all.push((name, added));
    Ok(())
}
