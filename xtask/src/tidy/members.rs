//! Every manifest in the repository is a member of the workspace: what is not is never built, and rots. The few that must stand
//! outside are listed in `house.rs` with the reason.

use crate::{
    house::OUTSIDE,
    tidy::{Issue, tree::Tree},
};

const TABLE: &str = "xtask/src/house.rs";

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let manifests = tree.files().map(|(path, _)| path).filter(|path| path.ends_with("/Cargo.toml"));
    let strangers = manifests.filter(|path| !is_member(tree, path) && !is_outside(path));
    let strange = "not a member: add it to `[workspace] members` in Cargo.toml";
    strangers.map(|path| Issue::new(path, 0, strange)).chain(stale_rows(tree)).collect()
}

fn is_member(tree: &Tree, path: &str) -> bool {
    tree.packages().iter().any(|package| package.manifest == path)
}

fn is_outside(path: &str) -> bool {
    OUTSIDE.iter().any(|(folder, _)| path.strip_suffix("/Cargo.toml") == Some(*folder))
}

/// Rows of the table that name a member or nothing; only told of trees that have the table.
fn stale_rows(tree: &Tree) -> Vec<Issue> {
    if tree.text(TABLE).is_none() {
        return Vec::new();
    }
    let stands_outside = |folder: &str| {
        let manifest = format!("{folder}/Cargo.toml");
        tree.text(&manifest).is_some() && !is_member(tree, &manifest)
    };
    let stale = OUTSIDE.iter().filter(|(folder, _)| !stands_outside(folder));
    let message =
        |folder| format!("no package outside the workspace is `{folder}`: remove the row");
    stale.map(|(folder, _)| Issue::new(TABLE, 0, message(folder))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [(&str, &str); 3] =
        [("Cargo.toml", ""), ("crates/a/Cargo.toml", ""), ("fuzz/Cargo.toml", "")];

    #[test]
    fn a_manifest_outside_the_workspace_is_found() {
        let tree = Tree::of(&FILES).with("a", "crates/a", &[], &[]);
        let found: Vec<_> = check(&tree).into_iter().map(|issue| issue.path).collect();
        assert_eq!(found, ["fuzz/Cargo.toml"]);
    }

    #[test]
    fn the_root_and_the_members_pass() {
        let tree = Tree::of(&FILES).with("a", "crates/a", &[], &[]).with("fuzz", "fuzz", &[], &[]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_manifest_that_is_listed_as_outside_passes_and_a_row_without_one_is_found() {
        let manifests = OUTSIDE.map(|(folder, _)| format!("{folder}/Cargo.toml"));
        let files: Vec<_> =
            manifests.iter().map(|path| (&**path, "")).chain([(TABLE, "")]).collect();
        assert_eq!(check(&Tree::of(&files)), []);
        assert_eq!(check(&Tree::of(&[(TABLE, "")])).len(), OUTSIDE.len());
        let member = Tree::of(&files).with("a", OUTSIDE[0].0, &[], &[]);
        assert_eq!(check(&member).len(), 1);
    }
}
