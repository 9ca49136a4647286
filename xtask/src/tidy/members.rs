//! Every manifest in the repository is a member of the workspace, or listed in `house.rs` as one that is not; every member but the
//! adapters is a default one, and inherits. Versions of dependencies are cargo-deny's to hold, in the stage `deny`.

use crate::{
    house::{ADAPTERS, FLOORS, ON_TOP, OUTSIDE},
    issue::Issue,
    tidy::tree::{Package, Tree},
};

const TABLE: &str = "xtask/src/house.rs";

/// A manifest that is no member is never built, and rots; a member that is no default one is never tested; a row of a table that names
/// nothing misleads.
pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let members: Vec<_> = tree.packages.iter().map(|package| package.folder.as_str()).collect();
    let folders = tree.files.keys().filter_map(|path| path.strip_suffix("/Cargo.toml"));
    let strangers = folders.filter(|it| !members.contains(it) && !OUTSIDE.contains(it));
    let why = "not a member: add it to `[workspace] members` in Cargo.toml";
    let mut issues: Vec<_> = strangers.map(|it| Issue::new(it, 0, why)).collect();
    issues.extend(tree.packages.iter().filter_map(default));
    if tree.text(TABLE).is_some() {
        let names = FLOORS.into_iter().flatten().copied().chain(ON_TOP).chain(ADAPTERS);
        let gone = names.filter(|name| tree.member(name).is_none());
        let gone = gone.chain(OUTSIDE.into_iter().filter(|folder| !tree.has(folder)));
        issues.extend(
            gone.map(|it| Issue::new(TABLE, 0, format!("no package is `{it}`: remove the row"))),
        );
    }
    issues
}

fn default(package: &Package) -> Option<Issue> {
    let why = match (package.is_default, ADAPTERS.contains(&package.name.as_str())) {
        (true, true) => "an adapter among `default-members`, which everyone builds: take it out",
        (false, false) => "missing among `default-members`: add it in Cargo.toml",
        _ => return None,
    };
    Some(Issue::new(package.manifest(), 0, why))
}

/// One version, one edition, one least Rust, one licence, one set of lints; and a description where the registry demands it.
pub(super) fn manifests(tree: &Tree) -> Vec<Issue> {
    const KEYS: [&str; 4] = ["version", "edition", "rust_version", "license"];
    let breaches = tree.packages.iter().flat_map(|package| {
        let text = tree.text(&package.manifest()).unwrap_or_default();
        let is_own = |key: &&&str| package.data[**key] != tree.packages[0].data[**key];
        let own = KEYS
            .iter()
            .find(is_own)
            .map(|key| format!("write `{}.workspace = true`", key.replace('_', "-")));
        let lints = (!text.contains("[lints]\nworkspace = true"))
            .then(|| "write `workspace = true` under `[lints]`".to_owned());
        let is_bare = package.is_crate() && !package.data["description"].is_string();
        let bare = is_bare.then(|| "write a `description`: the registry demands it".to_owned());
        let all = [own, lints, bare, unlisted(tree, package)].into_iter().flatten();
        all.map(|why| Issue::new(package.manifest(), 0, why))
    });
    breaches.collect()
}

/// Where cargo does not find tests by itself, since they are one program, a file that is no module of it is never run.
fn unlisted(tree: &Tree, package: &Package) -> Option<String> {
    let folder = format!("{}/tests", package.folder);
    let all = tree.text(&format!("{folder}/all.rs"))?;
    let names = tree.files.keys().filter_map(|it| it.strip_prefix(&folder)?.strip_prefix('/'));
    let mut names = names.filter_map(|it| it.strip_suffix(".rs")).filter(|it| !it.contains('/'));
    let lost = names.find(|it| *it != "all" && !all.contains(&format!("\nmod {it};\n")))?;
    Some(format!("write `mod {lost};` in tests/all.rs"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn package(name: &str, data: Value) -> Package {
        let mut package = Package::of(data, &Value::Null);
        (package.name, package.folder) = (name.to_owned(), format!("crates/{name}"));
        package
    }

    #[test]
    fn a_stranger_a_member_that_is_forgotten_and_a_row_of_nothing_are_found() {
        let packages = ["a", "binade-burn"].map(|name| package(name, Value::Null));
        let mut tree = Tree {
            packages: packages.into(),
            ..Tree::of(&[("fuzz/Cargo.toml", ""), ("Cargo.toml", "")])
        };
        let paths =
            |tree: &Tree| check(tree).into_iter().map(|issue| issue.path).collect::<Vec<_>>();
        assert_eq!(paths(&tree), ["fuzz", "crates/a/Cargo.toml"]);
        tree.packages.iter_mut().for_each(|package| package.is_default = true);
        assert_eq!(paths(&tree), ["fuzz", "crates/binade-burn/Cargo.toml"]);
        tree.files.insert(TABLE.to_owned(), String::new());
        assert!(check(&tree).iter().any(|issue| issue.message.contains("`tests/fuzz`")));
    }

    #[test]
    fn a_manifest_that_does_not_inherit_or_describe_is_found() {
        let lints = "[lints]\nworkspace = true\n";
        let count = |text: &str, b: Value| {
            let good = package("a", json!({ "version": "1", "description": "A." }));
            let files = [("crates/a/Cargo.toml", lints), ("crates/b/Cargo.toml", text)];
            manifests(&Tree { packages: vec![good, package("b", b)], ..Tree::of(&files) }).len()
        };
        let good = json!({ "version": "1", "description": "B." });
        assert_eq!((count(lints, good.clone()), count("", good)), (0, 1));
        assert_eq!(count(lints, json!({ "version": "2", "description": "B." })), 1);
        assert_eq!(count(lints, json!({ "version": "1" })), 1);
    }

    #[test]
    fn a_test_that_is_no_module_of_the_one_program_is_found() {
        let found = |all| {
            let files = [("crates/a/tests/all.rs", all), ("crates/a/tests/b.rs", "")];
            let nested = ("crates/a/tests/common/c.rs", "");
            unlisted(&Tree::of(&[&files[..], &[nested]].concat()), &package("a", Value::Null))
        };
        assert_eq!(found("//! A.\n\nmod b;\n"), None);
        assert!(found("//! A.\n\nmod bb;\n").is_some_and(|why| why.contains("`mod b;`")));
    }
}
