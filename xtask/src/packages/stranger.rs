//! A program of somebody's that depends on one packaged crate, outside any workspace.

use std::{collections::BTreeSet, fs, path::PathBuf};

use super::{FOLDER, place, snippet, tree, unpacked};
use crate::{
    Result,
    shell::{Call, root},
};

/// The program that uses a crate; `house` are all crates that were packaged.
pub(super) struct Stranger<'n> {
    name: &'n str,
    house: &'n [&'n str],
}

impl<'n> Stranger<'n> {
    pub(super) const fn of(name: &'n str, house: &'n [&'n str]) -> Self {
        Self { name, house }
    }

    /// Writes the program, runs it, and tells which crates came along.
    pub(super) fn uses_it(&self) -> Result<BTreeSet<String>> {
        self.write()?;
        let manifest = self.folder().join("Cargo.toml").to_string_lossy().into_owned();
        // One folder of builds for all of them: what they share is built once.
        let run = Call::cargo("run --quiet --target-dir").args([&format!("{FOLDER}/target")]);
        run.args(["--manifest-path", &manifest]).run()?;
        let list = Call::cargo("tree --edges normal,no-proc-macro --prefix none");
        Ok(tree::brings(&list.args(["--manifest-path", &manifest]).read()?))
    }

    fn folder(&self) -> PathBuf {
        place("strangers").join(self.name)
    }

    fn write(&self) -> Result<()> {
        let readme = fs::read_to_string(unpacked(self.name).join("README.md"))?;
        let program = snippet::program(&readme);
        let program = program.map_err(|error| format!("README.md of `{}`: {error}", self.name))?;
        fs::create_dir_all(self.folder().join("src"))?;
        fs::write(self.folder().join("src/main.rs"), program)?;
        fs::write(self.folder().join("Cargo.toml"), manifest(self.name, &self.needs()?))?;
        // The versions that the house is tested with, so that nothing is looked up anywhere.
        fs::copy(root().join("Cargo.lock"), self.folder().join("Cargo.lock"))?;
        Ok(())
    }

    /// The crates of the house that it imports, by way of others too: no registry has these yet.
    fn needs(&self) -> Result<BTreeSet<&'n str>> {
        let (mut needed, mut open) = (BTreeSet::new(), vec![self.name]);
        while let Some(name) = open.pop() {
            let manifest = fs::read_to_string(unpacked(name).join("Cargo.toml"))?;
            open.extend(imports(&manifest, self.house).filter(|import| needed.insert(*import)));
        }
        Ok(needed)
    }
}

/// Those of `house` that a manifest, as `cargo package` writes it, imports.
fn imports<'n>(manifest: &str, house: &'n [&'n str]) -> impl Iterator<Item = &'n str> {
    let tables = manifest.lines().filter_map(|line| {
        line.trim().strip_prefix("[dependencies.").and_then(|rest| rest.strip_suffix(']'))
    });
    let imported: BTreeSet<_> = tables.map(str::to_owned).collect();
    house.iter().copied().filter(move |name| imported.contains(*name))
}

/// A manifest with one dependency; what that needs of the house is found beside it.
fn manifest(name: &str, needs: &BTreeSet<&str>) -> String {
    let found = |name: &str| format!("{name} = {{ path = \"../../unpacked/{name}\" }}\n");
    let patches: String = needs.iter().map(|name| found(name)).collect();
    format!(
        "# Written by `cargo xtask packages`.\n\
         [package]\nname = \"uses-{name}\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\n{}\n[patch.crates-io]\n{patches}",
        found(name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_read_from_a_packaged_manifest_and_test_dependencies_are_none() {
        let packaged = "[dependencies.binade-core]\nversion = \"0.1.0\"\n\n[dependencies.half]\nversion = \"2\"\n\n[dev-dependencies.binade-cpu]\nversion = \"0.1.0\"\n";
        let house = ["binade-core", "binade-cpu", "binade-ops"];
        assert_eq!(imports(packaged, &house).collect::<Vec<_>>(), ["binade-core"]);
    }

    #[test]
    fn one_dependency_is_written_and_what_it_needs_is_found_beside_it() {
        let text = manifest("b", &BTreeSet::from(["a"]));
        let (before, after) = text.split_once("[patch.crates-io]\n").unwrap();
        assert!(
            before.ends_with("[dependencies]\nb = { path = \"../../unpacked/b\" }\n\n"),
            "{text}"
        );
        assert_eq!(after, "a = { path = \"../../unpacked/a\" }\n");
    }
}
