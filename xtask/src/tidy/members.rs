//! Rules of packages: every manifest is a member of the workspace or listed in `house.rs` as one that is not, every member inherits, and
//! its README is its page. Versions of dependencies are cargo-deny's to hold, in the stage `deny`.

use crate::{
    house::{ADAPTERS, ENGINES, FLOORS, ON_TOP, OUTSIDE},
    issue::Issue,
    tidy::tree::{Package, Tree},
};

const TABLE: &str = "xtask/src/house.rs";

/// A manifest that is no member is never built, and rots; a member that is no default one is never tested; a row of a table that names
/// nothing misleads.
pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let members: Vec<_> = tree.packages.iter().map(|package| package.folder.as_str()).collect();
    let folders = tree.files.keys().filter_map(|path| path.strip_suffix("/Cargo.toml"));
    let is_outside = |path: &str| OUTSIDE.iter().any(|folder| path.starts_with(folder));
    let strangers = folders.filter(|it| !members.contains(it) && !is_outside(it));
    let why = "not a member: add it to `[workspace] members` in Cargo.toml";
    let mut issues: Vec<_> = strangers.map(|it| Issue::new(it, 0, why)).collect();
    issues.extend(tree.packages.iter().filter_map(default));
    if tree.text(TABLE).is_some() {
        let names = FLOORS.into_iter().flatten().copied().chain(ON_TOP).chain(left_out());
        let gone = names.filter(|name| tree.member(name).is_none());
        let gone = gone.chain(OUTSIDE.into_iter().filter(|folder| !tree.has(folder)));
        let why = |it| format!("no package is `{it}`: remove the row");
        issues.extend(gone.map(|it| Issue::new(TABLE, 0, why(it))));
    }
    issues
}

/// Members that are no default members.
fn left_out() -> impl Iterator<Item = &'static str> {
    ADAPTERS.into_iter().chain(ENGINES)
}

fn default(package: &Package) -> Option<Issue> {
    let why = match (package.is_default, left_out().any(|name| name == package.name)) {
        (true, true) => "among `default-members`, which everyone builds: take it out",
        (false, false) => "missing among `default-members`: add it in Cargo.toml",
        _ => return None,
    };
    Some(Issue::new(package.manifest(), 0, why))
}

/// Finds packages whose version, edition, least Rust, licence or lints are not the workspace's, and tests that are never run.
pub(super) fn manifests(tree: &Tree) -> Vec<Issue> {
    const KEYS: [&str; 4] = ["version", "edition", "rust_version", "license"];
    let breaches = tree.packages.iter().flat_map(|package| {
        let text = tree.text(&package.manifest()).unwrap_or_default();
        let own = KEYS.iter().find(|key| package.data[**key] != tree.packages[0].data[**key]);
        let own = own.map(|key| format!("write `{}.workspace = true`", key.replace('_', "-")));
        let lints = (!text.contains("[lints]\nworkspace = true"))
            .then(|| "write `workspace = true` under `[lints]`".to_owned());
        let all = [own, lints, unlisted(tree, package)].into_iter().flatten();
        all.map(|why| Issue::new(package.manifest(), 0, why))
    });
    breaches.collect()
}

/// Returns the missing `mod` line of a test file that `tests/all.rs` leaves out: its tests would never run.
fn unlisted(tree: &Tree, package: &Package) -> Option<String> {
    let folder = format!("{}/tests", package.folder);
    let all = tree.text(&format!("{folder}/all.rs"))?;
    let names = tree.files.keys().filter_map(|it| it.strip_prefix(&folder)?.strip_prefix('/'));
    let mut names = names.filter_map(|it| it.strip_suffix(".rs")).filter(|it| !it.contains('/'));
    let lost = names.find(|it| *it != "all" && !all.contains(&format!("\nmod {it};\n")))?;
    Some(format!("write `mod {lost};` in tests/all.rs"))
}

const INCLUDE: &str = "#![doc = include_str!(\"../README.md\")]";

/// A crate's README is its documentation: one text, seen on the registry and in the docs, its examples run as doc tests.
pub(super) fn readmes(tree: &Tree) -> Vec<Issue> {
    let crates = tree.packages.iter().filter(|package| package.is_crate());
    crates.flat_map(|package| page(tree, package)).collect()
}

fn page(tree: &Tree, package: &Package) -> Vec<Issue> {
    let [page, root] = ["README.md", "src/lib.rs"].map(|it| format!("{}/{it}", package.folder));
    let text = tree.text(&page).unwrap_or_default();
    let mut issues = Vec::new();
    if !text.starts_with("# ") || !text.trim().contains('\n') {
        issues.push(Issue::new(&page, 1, "write the crate's page: its name, and what it is for"));
    }
    if ENGINES.contains(&&*package.name) && !text.contains("**Linux only.**") {
        let message = "write `**Linux only.**` and the reason: the stage `platforms` checks every crate but this for Windows and macOS";
        issues.push(Issue::new(&page, 1, message));
    }
    if !tree.text(&root).unwrap_or_default().lines().any(|line| line == INCLUDE) {
        let message = format!("show the README as the crate's page: `{INCLUDE}`");
        issues.push(Issue::new(root, 1, message));
    }
    let why = "a link out of the crate's folder leads nowhere on docs.rs: link to https://docs.rs/NAME, or name the file";
    let lines = text.lines().enumerate().filter(|(_, line)| line.contains("](../"));
    issues.extend(lines.map(|(index, _)| Issue::new(&page, index + 1, why)));
    issues
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{house, tidy::told};
    use serde_json::{Value, json};

    /// A tree of these files, and of packages with a name and more data.
    fn tree(files: &[(&str, &str)], packages: &[(&str, Value)]) -> Tree {
        let package = |(name, data): &(&str, Value)| {
            let mut package = Package::of(data.clone(), &Value::Null);
            (package.name, package.folder) = ((*name).to_owned(), format!("crates/{name}"));
            package
        };
        Tree { packages: packages.iter().map(package).collect(), ..Tree::of(files) }
    }

    #[test]
    fn a_stranger_a_member_that_is_forgotten_and_a_row_of_nothing_are_found() {
        let packages = ["a", "binade-burn"].map(|name| (name, Value::Null));
        let mut tree = tree(&[("fuzz/Cargo.toml", ""), ("Cargo.toml", "")], &packages);
        let paths =
            |tree: &Tree| check(tree).into_iter().map(|issue| issue.path).collect::<Vec<_>>();
        assert_eq!(paths(&tree), ["fuzz", "crates/a/Cargo.toml"]);
        tree.packages.iter_mut().for_each(|package| package.is_default = true);
        assert_eq!(paths(&tree), ["fuzz", "crates/binade-burn/Cargo.toml"]);
        tree.files.insert(TABLE.to_owned(), String::new());
        assert!(told(check, &tree).contains("`tests/fuzz`"));
    }

    #[test]
    fn a_manifest_that_does_not_inherit_and_a_test_that_is_never_run_are_found() {
        let (lints, all) = ("[lints]\nworkspace = true\n", "//! A.\n\nmod c;\n");
        let found = |text: &str, all: &str, b: Value| {
            let good = ("a", json!({ "version": "1" }));
            let files = [("crates/a/Cargo.toml", lints), ("crates/b/Cargo.toml", text)];
            let tests = ["all", "c", "common/d"].map(|it| format!("crates/b/tests/{it}.rs"));
            let tests = [(&*tests[0], all), (&*tests[1], ""), (&*tests[2], "")];
            told(manifests, &tree(&[&files[..], &tests].concat(), &[good, ("b", b)]))
        };
        let good = json!({ "version": "1" });
        assert_eq!(found(lints, all, good.clone()), "");
        assert!(found("", all, good.clone()).contains("[lints]"));
        assert!(found(lints, "//! A.\n\nmod cc;\n", good).contains("`mod c;`"));
        assert!(found(lints, all, json!({ "version": "2" })).contains("version"));
    }

    #[test]
    fn a_readme_that_is_its_crates_page_passes_and_each_part_is_missed() {
        let page = "# a\n\nIts use.\n";
        for (page, root, wanted) in [
            (page, INCLUDE, ""),
            (page, "", "show the README"),
            ("# a\n", INCLUDE, "write the crate's page"),
            (&format!("{page}[c](../c)\n"), INCLUDE, "a link out"),
        ] {
            let files = [("crates/a/README.md", page), ("crates/a/src/lib.rs", root)];
            let told = told(readmes, &tree(&files, &[("a", json!({}))]));
            assert!(told.contains(wanted) && told.is_empty() == wanted.is_empty(), "{told}");
        }
    }

    #[test]
    fn a_crate_that_is_not_checked_for_windows_and_macos_says_that_it_is_for_linux_only() {
        let told = |says: &str| {
            let page = format!("# binade-mpi\n\nIts use.{says}\n");
            let files = [
                ("crates/binade-mpi/README.md", &*page),
                ("crates/binade-mpi/src/lib.rs", INCLUDE),
            ];
            told(readmes, &tree(&files, &[("binade-mpi", json!({}))]))
        };
        assert_eq!(told("\n\n**Linux only.** It needs MPI."), "");
        assert!(told("").contains("Linux only"));
        assert!(!house::portable().any(|name| name == "binade-mpi"));
    }
}
