//! Operations outside of any region: torch's own promotion of mixed operands.

use super::format::Rows;
use super::names::Device;
use crate::replay::dtype;
use crate::replay::error::Wrong;
use crate::replay::notes::Notes;
use binade_cast_policy::Category;
use binade_core::promote;

/// Where torch leaves an operation to its promotion, operands cast to what we promote them to give the same type.
pub(super) fn replay(
    device: Device,
    name: &str,
    rows: &Rows,
    notes: &mut Notes,
) -> Result<(), Wrong> {
    let found = device.table().find(name).map(|(category, _)| category);
    if found != Some(Category::BuiltinPromote) {
        notes.skipped(
            "results outside of a region, taken as they are: those in one are held to them",
            rows.len(),
        );
        return Ok(());
    }
    for (mix, torch) in rows {
        let operands = mix.split(',').map(dtype::named).collect::<Result<Vec<_>, _>>()?;
        let Some(to) = promote(&operands).filter(|_| operands.iter().all(|d| d.is_castable()))
        else {
            notes.skipped("promotions of what is never cast", 1);
            continue;
        };
        let cast = vec![to.name(); operands.len()].join(",");
        match rows.get(&cast) {
            Some(expected) if expected == torch => {
                notes.compared("promotions outside of a region", 1);
            }
            Some(expected) => {
                let what = format!("of {mix}: {cast} is {expected}, and it was {torch}");
                return Err(Wrong::Result(what));
            }
            None => notes.skipped("promotions to types that were not recorded", 1),
        }
    }
    Ok(())
}
