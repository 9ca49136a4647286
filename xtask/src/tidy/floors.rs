//! Imports only go down. The floors themselves are in `house.rs`.
//!
//! Dev-dependencies may go up: a crate may be tested with what stands on it. Nothing imports xtask.

use crate::{
    house::{self, ON_TOP, SIDEWAYS, TOP},
    tidy::{Issue, package::Package, tree::Tree},
};

const TABLE: &str = "xtask/src/house.rs";

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let mut issues: Vec<_> =
        tree.packages().iter().flat_map(|package| check_package(tree, package)).collect();
    issues.extend(stale_rows(tree));
    issues
}

fn check_package(tree: &Tree, package: &Package) -> Vec<Issue> {
    let Some(floor) = floor(tree, &package.name) else {
        return vec![Issue::new(
            &package.manifest,
            0,
            format!("`{}` stands on no floor: give it one in {TABLE}", package.name),
        )];
    };
    let imports = package.dependencies.iter().filter(|import| import.is_ours() && !import.is_dev());
    let bad = imports
        .filter_map(|import| Some((import, objection(tree, floor, &package.name, &import.name)?)));
    bad.map(|(import, why)| {
        Issue::new(&package.manifest, tree.dependency_line(package, &import.name), why)
    })
    .collect()
}

/// What is wrong with `from`, which stands on `floor`, importing `to`.
fn objection(tree: &Tree, floor: usize, from: &str, to: &str) -> Option<String> {
    if from == "xtask" {
        return Some(format!(
            "xtask imports `{to}`: start its binary instead, so that xtask builds when it does not"
        ));
    }
    let below = self::floor(tree, to).is_some_and(|to| to < floor);
    if below || SIDEWAYS.contains(&(from, to)) {
        return None;
    }
    Some(format!(
        "`{from}` on floor {floor} imports `{to}`, which does not lie below it: move what both need down"
    ))
}

/// The table's floor for a crate of the house; for what only uses the house, its folder says it.
fn floor(tree: &Tree, name: &str) -> Option<usize> {
    house::floor(name).or_else(|| {
        let package = tree.packages().iter().find(|package| package.name == name)?;
        (!package.is_crate()).then_some(TOP)
    })
}

/// Rows of the table that name no member; only told of trees that have the table.
fn stale_rows(tree: &Tree) -> Vec<Issue> {
    let Some(table) = tree.text(TABLE) else { return Vec::new() };
    let is_member = |name: &str| tree.packages().iter().any(|package| package.name == name);
    let rows = house::FLOORS.into_iter().flatten().chain(&ON_TOP);
    let stale = rows.filter(|name| !is_member(name));
    let line = |name: &str| {
        table
            .lines()
            .position(|line| line.contains(&format!("\"{name}\"")))
            .map_or(0, |index| index + 1)
    };
    stale
        .map(|name| {
            Issue::new(TABLE, line(name), format!("no crate is called `{name}`: remove the row"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn importing(name: &str, folder: &str, imports: &[&str]) -> Tree {
        Tree::of(&[]).with(name, folder, imports, &[])
    }

    #[test]
    fn an_import_that_goes_down_passes() {
        let tree = importing("binade-cpu", "crates/binade-cpu", &["binade-core", "binade-ops"]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn an_import_that_goes_up_is_found() {
        let tree = importing("binade-core", "crates/binade-core", &["binade-ops"]);
        assert!(
            matches!(&check(&tree)[..], [issue] if issue.message.contains("`binade-core` on floor 0 imports `binade-ops`"))
        );
    }

    #[test]
    fn an_import_on_the_same_floor_is_found_unless_it_is_listed() {
        let (scaler, autocast) = ("binade-grad-scaler", "binade-autocast");
        assert_eq!(check(&importing(scaler, "crates/x", &["binade-cast-policy"])).len(), 1);
        assert_eq!(check(&importing(autocast, "crates/x", &["binade-cast-policy"])), []);
    }

    #[test]
    fn the_kit_may_not_import_a_backend() {
        assert_eq!(check(&importing("binade-conformance", "crates/x", &["binade-cpu"])).len(), 1);
    }

    #[test]
    fn a_dev_dependency_may_go_up() {
        let tree = importing("binade-core", "crates/binade-core", &["binade"]);
        assert_eq!(check(&tree.each_dependency(|import| import.kind = Some("dev".into()))), []);
    }

    #[test]
    fn a_build_dependency_may_not_go_up() {
        let tree = importing("binade-core", "crates/binade-core", &["binade"]);
        assert_eq!(
            check(&tree.each_dependency(|import| import.kind = Some("build".into()))).len(),
            1
        );
    }

    #[test]
    fn examples_use_anything_and_nothing_uses_them() {
        let tree = importing("digits", "examples/digits", &["binade", "binade-cpu"]);
        assert_eq!(check(&tree), []);
        assert_eq!(check(&tree.with("binade", "crates/binade", &["digits"], &[])).len(), 1);
    }

    #[test]
    fn the_crate_of_binaries_uses_anything_and_no_crate_uses_it() {
        let tree = importing("binade-bench", "crates/binade-bench", &["binade", "binade-cpu"]);
        assert_eq!(check(&tree), []);
        assert_eq!(check(&tree.with("binade", "crates/binade", &["binade-bench"], &[])).len(), 1);
    }

    #[test]
    fn xtask_imports_nothing_of_the_house() {
        assert_eq!(check(&importing("xtask", "xtask", &["binade-core"])).len(), 1);
    }

    #[test]
    fn a_crate_without_a_floor_is_found() {
        assert!(
            matches!(&check(&importing("binade-new", "crates/binade-new", &[]))[..], [issue] if issue.message.contains("no floor"))
        );
    }

    #[test]
    fn a_row_without_a_crate_is_found_with_its_line() {
        let tree = Tree::of(&[(TABLE, "// rows\n    \"binade-core\",\n")]);
        assert!(check(&tree).contains(&Issue::new(
            TABLE,
            2,
            "no crate is called `binade-core`: remove the row"
        )));
    }
}
