//! The lists: what torch's dispatcher has registered, and what torch's own tests expect of whom.

use super::format::{Recorded, Registered, TestLists};
use super::names::Device;
use crate::replay::error::{ReplayError, Wrong, same};
use crate::replay::notes::Notes;
use binade_cast_policy::{Category, OpTable};
use std::collections::BTreeMap;

pub(super) fn replay(recorded: &Recorded, notes: &mut Notes) -> Result<(), ReplayError> {
    let registries = &recorded.registry;
    let devices = [
        ("AutocastCPU", &registries.cpu, Device::Cpu),
        ("AutocastCUDA", &registries.cuda, Device::Cuda),
    ];
    for (name, registry, device) in devices {
        let Some(registry) = registry else { continue };
        registered(&device.table(), registry, notes)
            .map_err(|wrong| wrong.at(format!("registry {name}")))?;
    }
    for (device, lists) in &recorded.test_lists {
        let known = Device::named(device).map_err(|wrong| wrong.at("test lists"))?;
        expected(device, &known.table(), lists, notes)?;
    }
    Ok(())
}

/// Every name is on our list of its category, and our lists have no other.
fn registered(
    table: &OpTable,
    registry: &BTreeMap<String, Registered>,
    notes: &mut Notes,
) -> Result<(), Wrong> {
    let names = registry.iter().map(|(name, op)| (name.strip_prefix("aten::").unwrap_or(name), op));
    let names: BTreeMap<_, _> = names.collect();
    let ours = Category::ALL.into_iter().filter_map(|category| Some((category, torch(category)?)));
    let ours =
        ours.flat_map(|(category, torch)| table.listed(category).map(move |name| (name, torch)));
    let ours: BTreeMap<_, _> = ours.collect();
    for name in ours.keys().chain(names.keys()) {
        let was = names.get(name).map(|op| op.category.as_str());
        same(&format!("the list of {name}"), &ours.get(name).copied(), &was)?;
    }
    notes.compared("operations on the same list", names.len());
    Ok(())
}

/// torch's name of a list.
fn torch(category: Category) -> Option<&'static str> {
    Some(match category {
        Category::Lower => "lower_precision_fp",
        Category::F32 => "fp32",
        Category::F32Output => "fp32_set_opt_dtype",
        Category::F32Append => "fp32_append_dtype",
        Category::Promote => "promote",
        Category::Banned => "banned",
        _ => return None,
    })
}

fn expected(
    device: &str,
    table: &OpTable,
    lists: &TestLists,
    notes: &mut Notes,
) -> Result<(), ReplayError> {
    for (list, names) in lists {
        let at = || format!("test list {list} of {device}");
        let wanted = wanted(list).map_err(|wrong| wrong.at(at()))?;
        for (name, _) in names {
            let found = table.find(name.trim_matches('_')).or_else(|| table.find(name));
            let category = found.map(|(category, _)| category);
            if !wanted.contains(&category) {
                let what =
                    format!("{name} is on {category:?}, and was expected on one of {wanted:?}");
                return Err(Wrong::Result(what).at(at()));
            }
        }
        notes.compared("operations that torch's tests expect on their list", names.len());
    }
    Ok(())
}

/// The categories that a list of torch's tests means, by its name; none is a category too.
fn wanted(list: &str) -> Result<&'static [Option<Category>], Wrong> {
    Ok(match list {
        _ if list.ends_with("fp32") => {
            &[Some(Category::F32), Some(Category::F32Output), Some(Category::F32Append)]
        }
        _ if list.ends_with("16") => &[Some(Category::Lower)],
        _ if list.ends_with("builtin_promote") => &[Some(Category::BuiltinPromote), None],
        _ if list.ends_with("autocast_promote") => &[Some(Category::Promote)],
        "banned" => &[Some(Category::Banned)],
        _ => return Err(Wrong::Recording("the list is not known here".into())),
    })
}
