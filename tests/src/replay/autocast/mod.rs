//! Casts of torch's autocast, held to the presets of torch's lists: registries, and the types of results in a region.

mod format;
mod names;
mod registry;
mod row;

pub(super) use format::Recorded;

use super::dtype;
use super::error::{ReplayError, Wrong};
use super::notes::Notes;
use binade_cast_policy::Category;
use binade_core::promote;
use format::{Operations, Rows};
use names::Device;
use row::Called;

pub(super) fn replay(recorded: &Recorded, notes: &mut Notes) -> Result<(), ReplayError> {
    registry::replay(recorded, notes)?;
    for (place, operations) in &recorded.behaviour {
        let (device, region) = place.split_once('_').unwrap_or((place, ""));
        let known = Device::named(device).map_err(|wrong| wrong.at(place))?;
        if region == "off" {
            promotions(place, known, operations, notes)?;
            continue;
        }
        let plain = recorded.behaviour.get(&format!("{device}_off"));
        let missing = || Wrong::Recording(format!("there is no {device}_off to compare with"));
        let plain = plain.ok_or_else(|| missing().at(place))?;
        results(place, (known, region), operations, plain, notes)?;
    }
    if notes.compared.is_empty() {
        return Err(Wrong::Recording("it has nothing to compare".into()).at("autocast"));
    }
    Ok(())
}

fn promotions(
    place: &str,
    device: Device,
    operations: &Operations,
    notes: &mut Notes,
) -> Result<(), ReplayError> {
    for (name, rows) in operations {
        promoted(device, name, rows, notes)
            .map_err(|wrong| wrong.at(format!("{place}, {name}")))?;
    }
    Ok(())
}

/// Checks operations that torch leaves to its type promotion: operands cast as our policy promotes them give the same result type.
fn promoted(device: Device, name: &str, rows: &Rows, notes: &mut Notes) -> Result<(), Wrong> {
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

fn results(
    place: &str,
    (device, region): (Device, &str),
    operations: &Operations,
    plain: &Operations,
    notes: &mut Notes,
) -> Result<(), ReplayError> {
    let region = dtype::castable(region).map_err(|wrong| wrong.at(place))?;
    for (name, rows) in operations {
        let missing = || Wrong::Recording("it was not recorded outside of a region".into());
        let plain = plain.get(name).ok_or_else(|| missing().at(format!("{place}, {name}")))?;
        let called = Called { device, region, name, plain };
        for (mix, torch) in rows {
            let done = called.row(mix, torch, notes);
            done.map_err(|wrong| wrong.at(format!("{place}, {name} of {mix}")))?;
        }
    }
    Ok(())
}
