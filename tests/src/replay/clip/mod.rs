//! Gradients clipped by their norm and by value, held to the CPU backend.
//!
//! Ours is the norm, which is compared with the exact one. torch's coefficient is taken as recorded, as ours is another on
//! purpose, and what it makes of the gradients is compared bit for bit.

mod format;
mod gradients;
mod norm;
mod total;
mod value;

pub(super) use format::Table;

use super::error::ReplayError;
use super::notes::Notes;
use format::Op;
use gradients::Set;

pub(super) fn replay(table: &Table, notes: &mut Notes) -> Result<(), ReplayError> {
    for (i, case) in table.cases.iter().enumerate() {
        let done = Set::read(&case.dtype, &case.grads).and_then(|set| match &case.op {
            Op::Norm(clip) => norm::replay(clip, &set, case, notes),
            Op::Value { clip_value } => value::replay(clip_value.0, &set, case, notes),
        });
        done.map_err(|wrong| wrong.at(format!("case {i} ({})", case.op.name())))?;
    }
    Ok(())
}
