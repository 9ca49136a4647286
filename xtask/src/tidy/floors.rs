//! Imports only go down. The floors themselves are in `house.rs`; what the lower ones bring from outside is counted by `.ci/packages`.
//!
//! Dev-dependencies may go up: a crate may be tested with what stands on it. Nothing imports xtask.

use serde_json::Value;

use crate::{
    house::{self, SHARED, SIDEWAYS, TOP},
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
    let is_below = self::floor(tree, to).is_some_and(|to| to < floor) && from != "xtask";
    let is_beside = SIDEWAYS.contains(&(from, to)) || floor == TOP && to == SHARED;
    let is_wrong = import["path"].is_string() && !is_below && !is_beside;
    is_wrong.then(|| {
        format!("`{from}` on floor {floor} imports `{to}`, which does not lie below it: move what both need down")
    })
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

    /// The findings on a crate that imports `to` by a path, where an example is called `digits`.
    fn told(from: &str, to: &str, kind: &str) -> String {
        let import = json!({ "name": to, "path": "x", "kind": kind });
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
        for (from, to, kind, why) in [
            ("binade-cpu", "binade-autocast", "", ""),
            ("binade-autocast", "binade-cast-policy", "", ""),
            ("binade-core", "binade-gpu", "", "`binade-core` on floor 0 imports `binade-gpu`"),
            ("binade-grad-scaler", "binade-cast-policy", "", "does not lie below"),
            ("binade", "digits", "", "does not lie below"),
            ("xtask", "binade-core", "", "does not lie below"),
            ("binade-new", "binade-core", "", "stands on no floor"),
            ("binade-core", "binade", "dev", ""),
            ("binade-core", "binade", "build", "does not lie below"),
        ] {
            let told = told(from, to, kind);
            assert!(told.contains(why) && told.is_empty() == why.is_empty(), "{from}: {told}");
        }
    }
}
