//! Crates forbid `unsafe`; the few that may hold it deny it, and lift that only in the folder that `house.rs` names.

use crate::{
    house::UNSAFE_ALLOWED,
    tidy::{Issue, code, package::Package, tree::Tree},
};

const FORBID: &str = "#![forbid(unsafe_code)]";
const DENY: &str = "#![deny(unsafe_code)]";

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let crates = tree.packages().iter().filter(|package| package.is_crate());
    let mut issues: Vec<_> = crates.filter_map(|package| undeclared(tree, package)).collect();
    let elsewhere = tree.rust().filter(|(path, _)| !is_allowed(path));
    issues.extend(elsewhere.flat_map(|(path, text)| uses(path, text)));
    issues
}

/// What is wrong when the root of a crate does not say what it holds to.
fn undeclared(tree: &Tree, package: &Package) -> Option<Issue> {
    let may = UNSAFE_ALLOWED.iter().any(|(name, _)| *name == package.name);
    let accepted: &[&str] = if may { &[FORBID, DENY] } else { &[FORBID] };
    let root = format!("{}/src/lib.rs", package.folder());
    let says_so = tree.text(&root)?.lines().any(|line| accepted.contains(&line));
    let message = format!("write `{}` at the top", accepted[accepted.len() - 1]);
    (!says_so).then(|| Issue::new(root, 1, message))
}

fn uses(path: &str, text: &str) -> Vec<Issue> {
    let code = code::only(text);
    let message = "unsafe here: only the places listed in xtask/src/house.rs may hold it";
    code::lines_with(&code, "unsafe").map(|line| Issue::new(path, line, message)).collect()
}

/// Whether `path` is the module that the list names, or lies in its folder.
fn is_allowed(path: &str) -> bool {
    let rest = UNSAFE_ALLOWED.iter().find_map(|(_, place)| path.strip_prefix(place));
    rest.is_some_and(|rest| rest.starts_with('/') || rest == ".rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issues(name: &str, text: &str) -> usize {
        let folder = format!("crates/{name}");
        let root = format!("{folder}/src/lib.rs");
        check(&Tree::of(&[(root.as_str(), text)]).with(name, &folder, &[], &[])).len()
    }

    #[test]
    fn a_crate_that_forbids_passes_and_one_that_does_not_is_found() {
        assert_eq!(issues("binade-core", FORBID), 0);
        assert_eq!(issues("binade-core", DENY), 1);
        assert_eq!(issues("binade-core", &format!("//! {FORBID}\n")), 1);
    }

    #[test]
    fn a_backend_that_may_hold_it_denies_it_at_the_top() {
        assert_eq!(issues("binade-cpu", FORBID), 0);
        assert_eq!(issues("binade-cpu", DENY), 0);
        assert_eq!(issues("binade-cpu", "//! Doc.\n"), 1);
    }

    #[test]
    fn unsafe_is_found_outside_the_list_with_its_line() {
        let text = "//! unsafe\nfn f() {\n    unsafe { g() }\n}\n";
        let found = check(&Tree::of(&[("tests/a.rs", text)]));
        assert!(matches!(&found[..], [issue] if issue.line == 3));
    }

    #[test]
    fn the_list_names_a_module_and_its_folder_and_no_neighbour() {
        let used = "unsafe fn f() {}\n";
        let found = |path| check(&Tree::of(&[(path, used)])).len();
        assert_eq!(found("crates/binade-cpu/src/simd.rs"), 0);
        assert_eq!(found("crates/binade-cpu/src/simd/fma.rs"), 0);
        assert_eq!(found("crates/binade-cpu/src/simd_like.rs"), 1);
    }
}
