//! What the rules look at: the repository's text files and its packages, read once.

#[cfg(test)]
mod fabricated;

use std::{collections::BTreeMap, fs, path::Path};

use crate::{
    Result,
    tidy::package::{self, Package},
};

/// Text that rules read. Data files are none of their business.
const TEXT: [&str; 9] = ["cu", "cuh", "md", "ptx", "py", "rs", "sh", "toml", "wgsl"];

/// Hidden folders that belong to the project; others are tools' own.
const HIDDEN: [&str; 2] = [".cargo", ".ci"];

/// The repository as rules see it. Paths are from the root, with `/`.
#[derive(Default)]
pub(super) struct Tree {
    files: BTreeMap<String, String>,
    /// Every path there is, with the bytes of files: folders and what no rule reads are among them.
    paths: BTreeMap<String, u64>,
    packages: Vec<Package>,
}

impl Tree {
    /// Reads the repository at `root`, which must be in a state that `cargo metadata` can read.
    pub(super) fn load(root: &Path) -> Result<Self> {
        let mut tree = Self { packages: package::load(root)?, ..Self::default() };
        tree.walk(root, root)?;
        Ok(tree)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The Rust sources.
    pub(super) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(|(path, _)| has_extension(path, &["rs"]))
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Whether there is a file or a folder at `path`.
    pub(super) fn has(&self, path: &str) -> bool {
        path.is_empty() || self.paths.contains_key(path)
    }

    /// Every path with its size in bytes: 0, but for files.
    pub(super) fn sizes(&self) -> impl Iterator<Item = (&str, u64)> {
        self.paths.iter().map(|(path, bytes)| (path.as_str(), *bytes))
    }

    pub(super) fn packages(&self) -> &[Package] {
        &self.packages
    }

    /// The line, from 1, on which `name` stands as a key of `package`'s manifest, or 0.
    pub(super) fn dependency_line(&self, package: &Package, name: &str) -> usize {
        let starts = |line: &str| {
            line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
        };
        let lines = self.text(&package.manifest).unwrap_or_default().lines();
        lines.into_iter().position(starts).map_or(0, |index| index + 1)
    }

    fn walk(&mut self, root: &Path, folder: &Path) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            let bytes = if kind.is_file() { entry.metadata()?.len() } else { 0 };
            self.paths.insert(from_root(root, &path), bytes);
            if kind.is_dir() && belongs(&entry.file_name().to_string_lossy()) {
                self.walk(root, &path)?;
            } else if kind.is_file() {
                self.read(root, &path)?;
            }
        }
        Ok(())
    }

    fn read(&mut self, root: &Path, path: &Path) -> Result<()> {
        let name = from_root(root, path);
        if has_extension(&name, &TEXT) || name.starts_with(".ci/") {
            self.files.insert(name, fs::read_to_string(path)?);
        }
        Ok(())
    }
}

/// Whether a folder called `name` is part of the project rather than something built or downloaded.
fn belongs(name: &str) -> bool {
    if name.starts_with('.') { HIDDEN.contains(&name) } else { name != "target" }
}

/// Whether the last part of `path` ends in `.` and one of `extensions`.
pub(super) fn has_extension(path: &str, extensions: &[&str]) -> bool {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| extensions.contains(&extension))
}

/// `path` as seen from `root`, with `/` on every system.
pub(super) fn from_root(root: &Path, path: &Path) -> String {
    let below = path.strip_prefix(root).unwrap_or(path);
    below.to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::root;

    #[test]
    fn the_repository_is_read_whole_and_nothing_built_is() {
        let tree = Tree::load(&root()).unwrap();
        assert!(tree.text("xtask/src/tidy/tree.rs").is_some());
        assert!(tree.text(".cargo/config.toml").is_some());
        assert!(
            tree.files()
                .all(|(path, _)| !path.starts_with("target/") && !path.starts_with(".git/"))
        );
    }

    #[test]
    fn a_dependency_is_found_by_its_whole_name() {
        let manifest = "[dependencies]\nbinade-cpu.workspace = true\nbinade = \"1\"\n";
        let tree = Tree::of(&[("a/Cargo.toml", manifest)]).with("a", "a", &[], &[]);
        assert_eq!(tree.dependency_line(&tree.packages()[0], "binade"), 3);
        assert_eq!(tree.dependency_line(&tree.packages()[0], "half"), 0);
    }
}
