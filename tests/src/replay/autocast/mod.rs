//! Casts of torch's autocast, held to the presets of torch's lists: registries, and the types of results in a region.

mod format;
mod names;
mod plain;
mod registry;
mod row;

pub(super) use format::Recorded;

use super::dtype;
use super::error::{ReplayError, Wrong};
use super::notes::Notes;
use format::Operations;
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
        plain::replay(device, name, rows, notes)
            .map_err(|wrong| wrong.at(format!("{place}, {name}")))?;
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
