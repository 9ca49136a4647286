//! Gradients clipped by their norm and by value, held to the CPU backend.
//!
//! Ours is the norm, which is compared with the exact one. torch's coefficient is taken as recorded, as ours is another on
//! purpose, and what it makes of the gradients is compared bit for bit.

mod format;
mod gradients;
mod norm;
mod total;

pub(super) use format::Table;

use super::bits::narrow;
use super::differences::Difference;
use super::dtype;
use super::error::{ReplayError, Wrong, same};
use super::notes::Notes;
use binade_cpu::Cpu;
use binade_grad_scaler::GradOps;
use format::{Case, Op};
use gradients::Set;
use norm::refused;

pub(super) fn replay(table: &Table, notes: &mut Notes) -> Result<(), ReplayError> {
    for (i, case) in table.cases.iter().enumerate() {
        let done = Set::read(&case.dtype, &case.grads).and_then(|set| match &case.op {
            Op::Norm(clip) => norm::replay(clip, &set, case, notes),
            Op::Value { clip_value } => by_value(clip_value.0, &set, case, notes),
        });
        done.map_err(|wrong| wrong.at(format!("case {i} ({})", case.op.name())))?;
    }
    Ok(())
}

/// `clip_grad_value_`.
fn by_value(clip_value: f64, set: &Set, case: &Case, notes: &mut Notes) -> Result<(), Wrong> {
    let max = narrow(clip_value);
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
