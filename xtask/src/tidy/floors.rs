//! Imports only go down, and the lower floors import little from outside. The floors themselves are in `house.rs`.
//!
//! Dev-dependencies may go up: a crate may be tested with what stands on it. Nothing imports xtask.

use serde_json::Value;

use crate::{
    house::{self, KIT, KIT_NEVER_IMPORTS, ONLY_OPTIONAL, SIDEWAYS, SMALL_IMPORTS, TOP},
    issue::Issue,
    tidy::tree::{Package, Tree},
};

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let told = tree.packages.iter().flat_map(|package| {
        let imports = package.data["dependencies"].as_array().into_iter().flatten();
        let imports = imports.filter(|import| import["kind"] != "dev");
        let bad: Vec<_> = match floor(tree, &package.name) {
            None => {
                let place = "xtask/src/house.rs";
                vec![format!("`{}` stands on no floor: give it one in {place}", package.name)]
            }
            Some(floor) => {
                imports.filter_map(|import| objection(tree, floor, package, import)).collect()
            }
        };
        bad.into_iter().map(|why| Issue::new(package.manifest(), 0, why))
    });
    told.collect()
}

/// Returns why a package, which stands on `floor`, must not import this.
fn objection(tree: &Tree, floor: usize, package: &Package, import: &Value) -> Option<String> {
    let (from, to) = (package.name.as_str(), import["name"].as_str()?);
    if import["path"].is_string() {
        let is_below = self::floor(tree, to).is_some_and(|to| to < floor) && from != "xtask";
        return (!is_below && !SIDEWAYS.contains(&(from, to))).then(|| {
            format!("`{from}` on floor {floor} imports `{to}`, which does not lie below it: move what both need down")
        });
    }
    if from == KIT && KIT_NEVER_IMPORTS.contains(&to) {
        return Some(format!("the kit imports `{to}`: it compares bytes and knows no backend"));
    }
    if !house::small_crates().any(|small| small == from) {
        return None;
    }
    if !SMALL_IMPORTS.contains(&to) {
        let allowed = SMALL_IMPORTS.join(", ");
        return Some(format!(
            "`{from}` is taken alone and imports `{to}`: floors 0 and 1 import only {allowed}"
        ));
    }
    let is_always = ONLY_OPTIONAL.contains(&to) && import["optional"] != true;
    is_always.then(|| format!("`{from}` needs {to} always: make it `optional = true`"))
}

/// The table's floor for a crate of the house; for what only uses the house, its folder says it.
fn floor(tree: &Tree, name: &str) -> Option<usize> {
    let uses = || tree.member(name).filter(|package| !package.is_crate()).map(|_| TOP);
    house::floor(name).or_else(uses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The findings on a crate that imports `to`, `ours` by a path, where an example is called `digits`.
    fn told(from: &str, to: &str, [ours, optional]: [bool; 2], kind: &str) -> String {
        let import =
            json!({ "name": to, "path": ours.then_some("x"), "optional": optional, "kind": kind });
        let package = |name: &str, folder: &str, imports: &[Value]| {
            let data = json!({ "name": name, "manifest_path": format!("{folder}/Cargo.toml"), "dependencies": imports });
            Package::of(data, &Value::Null)
        };
        let folder = if from == "xtask" { from } else { "crates/x" };
        let packages =
            vec![package(from, folder, &[import]), package("digits", "examples/digits", &[])];
        check(&Tree { packages, ..Tree::of(&[]) }).into_iter().map(|issue| issue.message).collect()
    }

    #[test]
    fn imports_go_down_or_sideways_by_the_table_and_dev_dependencies_anywhere() {
        let ours = |from, to, kind| told(from, to, [true, false], kind);
        for (from, to, kind, why) in [
            ("binade-cpu", "binade-ops", "", ""),
            ("binade-autocast", "binade-cast-policy", "", ""),
            ("binade-core", "binade-ops", "", "`binade-core` on floor 0 imports `binade-ops`"),
            ("binade-grad-scaler", "binade-cast-policy", "", "does not lie below"),
            ("binade", "digits", "", "does not lie below"),
            ("xtask", "binade-core", "", "does not lie below"),
            ("binade-new", "binade-core", "", "stands on no floor"),
            ("binade-core", "binade", "dev", ""),
            ("binade-core", "binade", "build", "does not lie below"),
        ] {
            let told = ours(from, to, kind);
            assert!(told.contains(why) && told.is_empty() == why.is_empty(), "{from}: {told}");
        }
    }

    #[test]
    fn the_lower_floors_and_the_kit_import_little_from_outside() {
        for (from, to, optional, why) in [
            ("binade-ops", "ndarray", true, "`ndarray`"),
            ("binade-core", "serde", false, "optional"),
            ("binade-core", "serde", true, ""),
            ("binade-cpu", "ndarray", false, ""),
            ("binade-conformance", "ndarray", false, "the kit"),
        ] {
            let told = told(from, to, [false, optional], "");
            assert!(told.contains(why) && told.is_empty() == why.is_empty(), "{from}: {told}");
        }
    }
}
