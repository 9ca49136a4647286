//! What the rules look at: the repository's text files and its packages, read once.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use crate::{Result, shell::Cargo};

/// Text that rules read. Data files are none of their business.
const TEXT: [&str; 8] = ["cu", "cuh", "md", "py", "rs", "sh", "toml", "wgsl"];

/// Hidden folders that belong to the project; others are tools' own.
const HIDDEN: [&str; 2] = [".cargo", ".ci"];

/// The repository as rules see it. Paths are from the root, with `/`.
#[derive(Default)]
pub(super) struct Tree {
    files: BTreeMap<String, String>,
    packages: Vec<Package>,
}

/// A member of the workspace.
#[derive(Clone, Deserialize)]
pub(super) struct Package {
    pub(super) name: String,
    /// From the root once loaded.
    #[serde(rename = "manifest_path")]
    pub(super) manifest: String,
    pub(super) dependencies: Vec<Dependency>,
}

/// One line of a manifest's dependency tables.
#[derive(Clone, Default, Deserialize)]
pub(super) struct Dependency {
    pub(super) name: String,
    /// Nothing for a normal one, else `dev` or `build`.
    pub(super) kind: Option<String>,
    pub(super) optional: bool,
    /// Set for what lies in the repository.
    pub(super) path: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

impl Package {
    /// The folder of the manifest, without a slash at its end.
    pub(super) fn folder(&self) -> &str {
        self.manifest.strip_suffix("/Cargo.toml").unwrap_or_default()
    }

    /// Whether it is one of the house's crates, not an example, a test package or xtask.
    pub(super) fn is_crate(&self) -> bool {
        self.folder().starts_with("crates/")
    }
}

impl Dependency {
    pub(super) fn is_dev(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }

    pub(super) fn is_ours(&self) -> bool {
        self.path.is_some()
    }
}

impl Tree {
    /// Reads the repository at `root`, which must be in a state that `cargo metadata` can read.
    pub(super) fn load(root: &Path) -> Result<Self> {
        let mut tree = Self { files: BTreeMap::new(), packages: packages(root)? };
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
fn from_root(root: &Path, path: &Path) -> String {
    let below = path.strip_prefix(root).unwrap_or(path);
    below.to_string_lossy().replace('\\', "/")
}

/// The members, as cargo reads them; no network and no lock file are needed.
fn packages(root: &Path) -> Result<Vec<Package>> {
    let json = Cargo::line("metadata --no-deps --offline --format-version 1").read()?;
    let mut packages = serde_json::from_str::<Metadata>(&json)?.packages;
    for package in &mut packages {
        package.manifest = from_root(root, Path::new(&package.manifest));
    }
    Ok(packages)
}

/// Trees for the rules' own tests.
#[cfg(test)]
impl Tree {
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())).collect();
        Self { files, packages: Vec::new() }
    }

    /// Adds a member `name` in `folder` with normal dependencies on `ours` and `foreign` crates.
    pub(super) fn with(
        mut self,
        name: &str,
        folder: &str,
        ours: &[&str],
        foreign: &[&str],
    ) -> Self {
        let path = Some(PathBuf::from("somewhere"));
        let ours = ours.iter().map(|name| Dependency {
            name: (*name).into(),
            path: path.clone(),
            ..Dependency::default()
        });
        let foreign =
            foreign.iter().map(|name| Dependency { name: (*name).into(), ..Dependency::default() });
        let dependencies = ours.chain(foreign).collect();
        self.packages.push(Package {
            name: name.into(),
            manifest: format!("{folder}/Cargo.toml"),
            dependencies,
        });
        self
    }

    /// Changes every dependency of every member.
    pub(super) fn each_dependency(mut self, change: impl Fn(&mut Dependency)) -> Self {
        self.packages.iter_mut().flat_map(|package| &mut package.dependencies).for_each(change);
        self
    }
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
    fn members_are_named_from_the_root() {
        let tree = Tree::load(&root()).unwrap();
        let this = tree.packages().iter().find(|package| package.name == "xtask").unwrap();
        assert_eq!((this.folder(), this.is_crate()), ("xtask", false));
        assert_ne!(tree.dependency_line(this, "clap"), 0);
    }

    #[test]
    fn a_dependency_is_found_by_its_whole_name() {
        let manifest = "[dependencies]\nbinade-cpu.workspace = true\nbinade = \"1\"\n";
        let tree = Tree::of(&[("a/Cargo.toml", manifest)]).with("a", "a", &[], &[]);
        assert_eq!(tree.dependency_line(&tree.packages()[0], "binade"), 3);
        assert_eq!(tree.dependency_line(&tree.packages()[0], "half"), 0);
    }
}
