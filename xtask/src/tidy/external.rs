//! What the lower floors import from outside, so that one of them can be taken alone; and what the kit must not know.

use crate::{
    house::{self, KIT_NEVER_IMPORTS, ONLY_OPTIONAL, SMALL_IMPORTS},
    tidy::{
        Issue,
        package::{Dependency, Package},
        tree::Tree,
    },
};

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    tree.packages().iter().flat_map(|package| check_package(tree, package)).collect()
}

fn check_package(tree: &Tree, package: &Package) -> Vec<Issue> {
    let foreign =
        package.dependencies.iter().filter(|import| !import.is_ours() && !import.is_dev());
    let bad = foreign.filter_map(|import| Some((import, objection(&package.name, import)?)));
    bad.map(|(import, why)| {
        Issue::new(&package.manifest, tree.dependency_line(package, &import.name), why)
    })
    .collect()
}

fn objection(from: &str, import: &Dependency) -> Option<String> {
    let name = import.name.as_str();
    if from == "binade-conformance" && KIT_NEVER_IMPORTS.contains(&name) {
        return Some(format!("the kit imports `{name}`: it compares bytes and knows no backend"));
    }
    if !house::small_crates().any(|small| small == from) {
        return None;
    }
    if !SMALL_IMPORTS.contains(&name) {
        let allowed = SMALL_IMPORTS.join(", ");
        return Some(format!(
            "`{from}` is taken alone and imports `{name}`: floors 0 and 1 import only {allowed}"
        ));
    }
    (ONLY_OPTIONAL.contains(&name) && !import.optional)
        .then(|| format!("`{from}` needs {name} always: make it `optional = true`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn importing(name: &str, imports: &[&str]) -> Tree {
        Tree::of(&[]).with(name, "crates/x", &[], imports)
    }

    #[test]
    fn the_listed_crates_pass() {
        let tree = importing("binade-grad-scaler", &["half", "thiserror", "serde", "toml"]);
        assert_eq!(check(&tree.each_dependency(|import| import.optional = true)), []);
    }

    #[test]
    fn another_crate_on_a_low_floor_is_found_even_as_an_option() {
        let tree =
            importing("binade-ops", &["ndarray"]).each_dependency(|import| import.optional = true);
        assert!(matches!(&check(&tree)[..], [issue] if issue.message.contains("`ndarray`")));
    }

    #[test]
    fn serde_or_toml_that_is_always_there_is_found() {
        for name in ["serde", "toml"] {
            assert!(
                matches!(&check(&importing("binade-core", &[name]))[..], [issue] if issue.message.contains("optional"))
            );
        }
    }

    #[test]
    fn tests_of_a_low_floor_may_import_anything() {
        let tree = importing("binade-core", &["proptest"])
            .each_dependency(|import| import.kind = Some("dev".into()));
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_backend_may_import_ndarray_and_the_kit_may_not() {
        assert_eq!(check(&importing("binade-cpu", &["ndarray"])), []);
        assert_eq!(check(&importing("binade-conformance", &["ndarray"])).len(), 1);
    }
}
