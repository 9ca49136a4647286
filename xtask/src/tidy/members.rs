//! Every manifest in the repository is a member of the workspace: what is not is never built, and rots.

use crate::tidy::{Issue, tree::Tree};

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let is_member = |path: &str| tree.packages().iter().any(|package| package.manifest == path);
    let manifests = tree.files().map(|(path, _)| path).filter(|path| path.ends_with("/Cargo.toml"));
    let strangers = manifests.filter(|path| !is_member(path));
    strangers
        .map(|path| {
            Issue::new(path, 0, "not a member: add it to `[workspace] members` in Cargo.toml")
        })
        .collect()
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
}
