//! `clip_grad_value_`.

use super::format::Case;
use super::gradients::Set;
use super::norm::{limit, refused};
use crate::replay::differences::Difference;
use crate::replay::error::Wrong;
use crate::replay::notes::Notes;
use binade_cpu::Cpu;
use binade_grad_scaler::GradOps;

pub(super) fn replay(
    clip_value: f64,
    set: &Set,
    case: &Case,
    notes: &mut Notes,
) -> Result<(), Wrong> {
    if raised_for_nothing(set, case)? {
        notes.differs(Difference::NothingToClip);
    }
    let max = limit(clip_value);
    let mut grads = set.on_cpu()?;
    if let Err(error) = Cpu.clip_value(&mut grads, max) {
        return refused(&error, max, notes);
    }
    if case.err.is_none() {
        set.back(&grads).same(case.after.as_ref())?;
        notes.compared("sets of gradients clipped by value", 1);
    }
    Ok(())
}

/// Whether torch raised, which it does where there is no gradient.
fn raised_for_nothing(set: &Set, case: &Case) -> Result<bool, Wrong> {
    match &case.err {
        Some(raised) if set.tensors() > 0 => {
            Err(Wrong::Result(format!("it returned, and had raised {}", raised.msg)))
        }
        raised => Ok(raised.is_some()),
    }
}
