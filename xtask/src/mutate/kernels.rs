//! Kernels with the cases that are held against each, and their changes that need not be noticed.

use std::collections::BTreeMap;

use crate::{Result, kernels::PACKED, packed, shell::root};

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
pub(super) fn named(names: &[String]) -> Result<Vec<Kernel>> {
    let (serves, texts) = (serves()?, packed::read(&root().join(PACKED))?);
    if let Some(name) = names.iter().find(|name| !texts.contains_key(*name)) {
        return Err(format!("no kernel in {PACKED} is called {name}").into());
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

/// Returns the changes of a kernel, as the texts before and after, that make no difference or that no case can reach, each with its
/// reason, out of `known.txt`.
pub(super) fn known(kernel: &Kernel) -> Result<BTreeMap<[String; 2], String>> {
    let rows = include_str!("known.txt").lines().filter(|row| !row.starts_with('#'));
    let mut found = BTreeMap::new();
    for row in rows {
        let (name, texts, reason) =
            parse(row).ok_or_else(|| format!("known.txt: no change: `{row}`"))?;
        if name == kernel.name {
            found.insert(texts, reason);
        }
    }
    Ok(found)
}

/// Reads a row: kernel, text before, text after and reason, with ` :: ` between them.
fn parse(row: &str) -> Option<(&str, [String; 2], String)> {
    let parts: Vec<_> = row.split(" :: ").collect();
    let [kernel, before, after, reason] = parts[..] else { return None };
    (!reason.is_empty()).then(|| (kernel, [before.into(), after.into()], reason.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_found_by_its_name_and_one_that_is_not_there_is_told() {
        let found = named(&["sgd".to_owned()]).unwrap();
        assert_eq!((found.len(), found[0].parts[0].as_str()), (1, "sgd/"));
        let error = named(&["sdg".to_owned()]).unwrap_err().to_string();
        assert!(error.ends_with("is called sdg"), "{error}");
    }

    #[test]
    fn every_row_is_of_a_kernel_and_every_known_change_of_a_line_that_is_committed() {
        let mut rows = serves().unwrap();
        for kernel in named(&[]).unwrap() {
            rows.remove(&kernel.name);
            for [before, after] in known(&kernel).unwrap().into_keys() {
                let name = &kernel.name;
                let is_there = kernel.text.lines().any(|line| line.contains(&before));
                assert!(is_there, "{name}: `{before}` to `{after}`: no longer there");
            }
        }
        assert!(rows.is_empty(), "{rows:?}");
    }

    #[test]
    fn a_row_without_a_reason_is_none() {
        assert!(parse("sgd :: add :: sub :: why").is_some());
        assert_eq!(parse("sgd :: add :: sub :: "), None);
        assert_eq!(parse("sgd :: 7 :: add :: sub :: why"), None);
    }
}
