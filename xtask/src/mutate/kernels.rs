//! Kernels with the cases that are held against each, and their changes that need not be noticed.

use std::collections::BTreeMap;

use super::{Change, Device, wgsl};
use crate::{Result, packed, shell::root};

/// A kernel's text and the cases that are held against it.
#[derive(Debug)]
pub(super) struct Kernel {
    pub(super) name: String,
    pub(super) text: String,
    /// Parts of the names of cases, in the order in which they are run.
    pub(super) parts: Vec<String>,
    /// The compute capability that it is for, where that is not the newest.
    pub(super) capability: Option<&'static str>,
}

/// Kernels of products before compute capability 8.0, which have no bf16, and the one that the interpreter then has.
const OLDER: (&str, &str) = ("matmul", "7.5");

/// The parts of each kernel that has not those of the operation of its name alone.
fn serves() -> Result<BTreeMap<String, String>> {
    Ok(toml::from_str(include_str!("kernels.toml"))?)
}

/// The kernels of these names, or all where there are none.
pub(super) fn named(device: Device, names: &[String]) -> Result<Vec<Kernel>> {
    let ([_, _, packed], serves) = (device.names(), serves()?);
    let texts = packed::read(&root().join(packed))?;
    if let Some(name) = names.iter().find(|name| !texts.contains_key(*name)) {
        return Err(format!("no kernel in {packed} is called {name}").into());
    }
    let kernel = |(name, text): (String, String)| {
        let parts = serves.get(&name).cloned().unwrap_or_else(|| format!("{name}/"));
        let parts = parts.split_whitespace().map(str::to_owned).collect();
        let capability = (name == OLDER.0).then_some(OLDER.1);
        Kernel { name, text, parts, capability }
    };
    let wanted = |(name, _): &(String, String)| names.is_empty() || names.contains(name);
    Ok(texts.into_iter().filter(wanted).map(kernel).collect())
}

/// The changes of a kernel that make no difference, or that no case can reach, each with its reason, out of `known.txt`: its
/// own and those of shared files.
pub(super) fn known(device: Device, kernel: &Kernel) -> Result<BTreeMap<Change, String>> {
    let rows = include_str!("known.txt").lines().filter(|row| !row.starts_with('#'));
    let mut found = BTreeMap::new();
    for row in rows {
        let ([of, name], (change, reason)) =
            parse(row).ok_or_else(|| format!("known.txt: no change: `{row}`"))?;
        let own = (name == kernel.name).then_some(change.line);
        let line = own.or_else(|| wgsl::line_of(&kernel.text, name, change.line));
        let line = line.filter(|_| of == device.names()[0]);
        found.extend(line.map(|line| (Change { line, ..change }, reason)));
    }
    Ok(found)
}

/// Reads a row: device, kernel, line, text before, text after and reason, with ` :: ` between them.
fn parse(row: &str) -> Option<([&str; 2], (Change, String))> {
    let parts: Vec<_> = row.split(" :: ").collect();
    let [device, kernel, line, before, after, reason] = parts[..] else { return None };
    let change = Change { line: line.parse().ok()?, before: before.into(), after: after.into() };
    (!reason.is_empty()).then(|| ([device, kernel], (change, reason.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_found_by_its_name_and_one_that_is_not_there_is_told() {
        let found = named(Device::Ptx, &["sgd".to_owned()]).unwrap();
        assert_eq!((found.len(), found[0].parts[0].as_str()), (1, "sgd/"));
        let error = named(Device::Wgpu, &["sdg".to_owned()]).unwrap_err().to_string();
        assert!(error.ends_with("is called sdg"), "{error}");
    }

    #[test]
    fn every_row_is_of_a_kernel_and_every_known_change_of_a_line_that_is_committed() {
        let mut rows = serves().unwrap();
        for device in [Device::Ptx, Device::Wgpu] {
            for kernel in named(device, &[]).unwrap() {
                rows.remove(&kernel.name);
                for (change, _) in known(device, &kernel).unwrap() {
                    let line = kernel.text.lines().nth(change.line - 1).unwrap_or_default();
                    let name = &kernel.name;
                    assert!(line.contains(&change.before), "{name}: {change}: no longer there");
                }
            }
        }
        assert!(rows.is_empty(), "{rows:?}");
    }

    #[test]
    fn a_row_without_a_reason_is_none() {
        assert!(parse("ptx :: sgd :: 7 :: add :: sub :: why").is_some());
        assert_eq!(parse("ptx :: sgd :: 7 :: add :: sub :: "), None);
        assert_eq!(parse("ptx :: sgd :: seven :: add :: sub :: why"), None);
    }
}
