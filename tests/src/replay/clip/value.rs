//! `clip_grad_value_`.

use super::format::Case;
use super::gradients::Set;
use super::norm::{limit, refused};
use crate::replay::differences::Difference;
use crate::replay::dtype;
use crate::replay::error::{Wrong, same};
use crate::replay::notes::Notes;
use binade_cpu::Cpu;
use binade_grad_scaler::GradOps;

pub(super) fn replay(
    clip_value: f64,
    set: &Set,
    case: &Case,
    notes: &mut Notes,
) -> Result<(), Wrong> {
    let max = limit(clip_value);
    if let Some(difference) = raised(clip_value, set, case)? {
        notes.differs(difference);
    }
    let mut grads = set.on_cpu()?;
    if let Err(error) = Cpu.clip_value(&mut grads, max) {
        return refused(&error, max, notes);
    }
    if case.err.is_none() || set.tensors() > 0 {
        set.back(&grads).same(case.after.as_ref())?;
        notes.compared("sets of gradients clipped by value", 1);
    }
    Ok(())
}

/// Why torch raised, if it did: there is no gradient, or the limit is a finite number that their type cannot hold.
fn raised(clip_value: f64, set: &Set, case: &Case) -> Result<Option<Difference>, Wrong> {
    let Some(raised) = &case.err else { return Ok(None) };
    let is_beyond = clip_value.is_finite() && clip_value.abs() > dtype::format(set.dtype)?.max;
    same("the error's class", &"RuntimeError", &raised.class.as_str())?;
    match &raised.msg {
        msg if set.tensors() == 0 && msg.starts_with("Expected !nested_tensorlist[0].empty()") => {
            Ok(Some(Difference::NothingToClip))
        }
        msg if is_beyond && msg.ends_with("without overflow") => {
            Ok(Some(Difference::LimitBeyondType))
        }
        msg => Err(Wrong::Result(format!("it returned, and had raised {msg}"))),
    }
}
