//! What cargo takes where no package is named is every member but the adapters: a member that is forgotten in the list is never
//! tested, and an adapter in it makes everyone build its framework.

use crate::{
    house::ADAPTERS,
    tidy::{Issue, package::Package, tree::Tree},
};

const TABLE: &str = "xtask/src/house.rs";

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let members = tree.packages().iter().filter_map(objection);
    members.chain(stale_rows(tree)).collect()
}

fn objection(package: &Package) -> Option<Issue> {
    let is_adapter = ADAPTERS.contains(&package.name.as_str());
    let message = match (package.is_default, is_adapter) {
        (true, true) => "an adapter among `default-members`: take it out in Cargo.toml",
        (false, false) => "missing among `default-members`: add it in Cargo.toml",
        _ => return None,
    };
    Some(Issue::new(&package.manifest, 0, message))
}

/// Rows of the table that name no member; only told of trees that have the table.
fn stale_rows(tree: &Tree) -> Vec<Issue> {
    if tree.text(TABLE).is_none() {
        return Vec::new();
    }
    let is_member = |name: &str| tree.packages().iter().any(|package| package.name == name);
    let stale = ADAPTERS.iter().filter(|name| !is_member(name));
    stale.map(|name| Issue::new(TABLE, 0, format!("`{name}` is no member"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_cargo_does_not_take_by_itself_is_found() {
        let tree = Tree::of(&[]).with("a", "crates/a", &[], &[]).with("b", "crates/b", &[], &[]);
        assert_eq!(check(&tree), []);
        let found: Vec<_> = check(&tree.heavy("b")).into_iter().map(|issue| issue.path).collect();
        assert_eq!(found, ["crates/b/Cargo.toml"]);
    }

    #[test]
    fn an_adapter_that_cargo_takes_by_itself_is_found() {
        for name in ADAPTERS {
            let tree = Tree::of(&[]).with(name, "crates/x", &[], &[]);
            assert_eq!(check(&tree).len(), 1, "{name}");
            assert_eq!(check(&tree.heavy(name)), []);
        }
    }
}
