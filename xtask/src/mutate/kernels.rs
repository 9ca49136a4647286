//! Kernels with the cases that are held against each.

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
    fn every_row_is_of_a_kernel() {
        let mut rows = serves().unwrap();
        named(&[]).unwrap().iter().for_each(|kernel| drop(rows.remove(&kernel.name)));
        assert!(rows.is_empty(), "{rows:?}");
    }

    #[test]
    fn every_kernel_has_a_row_or_the_name_of_an_operation() {
        let rows = serves().unwrap();
        let is_operation =
            |name: &str| root().join(format!("crates/binade-core/src/ops/{name}.rs")).exists();
        let mut kernels = named(&[]).unwrap();
        kernels.retain(|it| !rows.contains_key(&it.name) && !is_operation(&it.name));
        let names: Vec<_> = kernels.into_iter().map(|it| it.name).collect();
        assert!(names.is_empty(), "no case is named for the mutants of {names:?}");
    }
}
