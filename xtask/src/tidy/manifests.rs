//! Manifests inherit: one version, one edition, one least Rust, one set of lints, one version of each dependency.

use crate::tidy::{Issue, package::Package, tree::Tree};

/// Keys of `[package]` that must come from the workspace.
const INHERITED: [&str; 4] = ["version", "edition", "rust-version", "license"];

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    tree.packages().iter().flat_map(|package| check_package(tree, package)).collect()
}

fn check_package(tree: &Tree, package: &Package) -> Vec<Issue> {
    let path = &package.manifest;
    let Some(text) = tree.text(path) else { return Vec::new() };
    let mut issues: Vec<_> =
        missing(text).map(|line| Issue::new(path, 0, format!("write `{line}`"))).collect();
    issues.extend(own_versions(text).map(|line| {
        Issue::new(
            path,
            line,
            "give the version in `[workspace.dependencies]`, and `workspace = true` here",
        )
    }));
    if package.is_crate()
        && !sections(text)
            .any(|(_, section, line)| section == "[package]" && line.starts_with("description"))
    {
        issues.push(Issue::new(
            path,
            0,
            "write a `description`: the registry shows it and demands it",
        ));
    }
    issues
}

/// The lines that should be there and are not.
fn missing(text: &str) -> impl Iterator<Item = String> {
    let package = INHERITED.iter().map(|key| ("[package]", format!("{key}.workspace = true")));
    let wanted = package.chain([("[lints]", "workspace = true".to_owned())]);
    wanted
        .filter(|(section, wanted)| {
            !sections(text).any(|(_, at, line)| at == *section && line == wanted)
        })
        .map(|(section, line)| format!("{line}` under `{section}"))
}

/// The lines, from 1, of dependencies that are not taken from the workspace.
fn own_versions(text: &str) -> impl Iterator<Item = usize> {
    let own = |section: &str, line: &str| {
        section.ends_with("dependencies]") && !line.replace(' ', "").contains("workspace=true")
    };
    sections(text).filter(move |(_, section, line)| own(section, line)).map(|(number, ..)| number)
}

/// Every line that says something, with its number from 1 and the section it stands in.
fn sections(text: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    let mut section = "";
    text.lines().enumerate().filter_map(move |(index, line)| {
        let line = line.trim();
        if line.starts_with('[') {
            section = line;
            return None;
        }
        (!line.is_empty() && !line.starts_with('#')).then_some((index + 1, section, line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[package]\nname = \"a\"\ndescription = \"A.\"\nversion.workspace = true\nedition.workspace = true\n\
        rust-version.workspace = true\nlicense.workspace = true\n\n[dependencies]\nhalf.workspace = true\n\
        serde = { workspace = true, optional = true }\n\n[lints]\nworkspace = true\n";

    fn issues(manifest: &str) -> Vec<Issue> {
        check(&Tree::of(&[("crates/a/Cargo.toml", manifest)]).with("a", "crates/a", &[], &[]))
    }

    #[test]
    fn a_manifest_that_inherits_everything_passes() {
        assert_eq!(issues(GOOD), []);
    }

    #[test]
    fn each_key_that_is_not_inherited_is_found() {
        for key in INHERITED {
            let own =
                GOOD.replace(&format!("\n{key}.workspace = true"), &format!("\n{key} = \"1\""));
            assert!(
                matches!(&issues(&own)[..], [issue] if issue.message.contains(&format!("`{key}."))),
                "{key}"
            );
        }
    }

    #[test]
    fn lints_of_its_own_are_found() {
        let own = GOOD.replace("[lints]\nworkspace = true", "[lints.rust]\nworkspace = true");
        assert!(matches!(&issues(&own)[..], [issue] if issue.message.contains("`[lints]`")));
    }

    #[test]
    fn a_version_of_its_own_is_found_with_its_line() {
        let own = GOOD.replace("half.workspace = true", "half = \"2\"");
        assert!(matches!(&issues(&own)[..], [issue] if issue.line == 10));
    }

    #[test]
    fn a_crate_without_a_description_is_found() {
        assert_eq!(issues(&GOOD.replace("description = \"A.\"\n", "")).len(), 1);
    }
}
