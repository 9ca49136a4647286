//! The repository as rules see it: its text files, its packages and its latest commits' titles, read once.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;

use crate::{
    Result,
    shell::{Call, root},
    tidy::titles,
};

/// Extensions of the text that rules read: sources, and reports, which might name a machine. Recorded data is none of their business.
const TEXT: [&str; 12] =
    ["csv", "cu", "cuh", "json", "md", "ptx", "py", "rs", "sh", "toml", "txt", "wgsl"];

/// The repository. Paths are from the root, with `/`.
pub(super) struct Tree {
    pub(super) files: BTreeMap<String, String>,
    /// Every path there is, folders and files that no rule reads included, with the bytes of files.
    pub(super) paths: BTreeMap<String, u64>,
    pub(super) packages: Vec<Package>,
    /// Commits' hashes with their titles, or the reason why there are none.
    pub(super) titles: Result<Vec<String>, String>,
}

/// A member of the workspace.
pub(super) struct Package {
    pub(super) name: String,
    /// The folder of the manifest, from the root.
    pub(super) folder: String,
    /// Returns true for what cargo takes where no package is named.
    pub(super) is_default: bool,
    /// The package as `cargo metadata` has it.
    pub(super) data: Value,
}

impl Package {
    /// The package of these data.
    pub(super) fn of(data: Value, defaults: &Value) -> Self {
        let text = |key: &str| data[key].as_str().unwrap_or_default().replace('\\', "/");
        let manifest = from_root(Path::new(&text("manifest_path")));
        let folder = manifest.trim_end_matches("/Cargo.toml").to_owned();
        let is_default = defaults.as_array().is_some_and(|all| all.contains(&data["id"]));
        Self { name: text("name"), folder, is_default, data }
    }

    pub(super) fn manifest(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }

    /// Returns true for one of the house's crates, not an example, a test package or xtask.
    pub(super) fn is_crate(&self) -> bool {
        self.folder.starts_with("crates/")
    }
}

impl Tree {
    /// Reads the repository, which must be in a state that `cargo metadata` can read.
    pub(super) fn load() -> Result<Self> {
        let mut tree = Self { titles: titles::read(), ..Self::of(&[]) };
        let json = Call::line("cargo metadata --no-deps --offline --format-version 1").read()?;
        let mut metadata: Value = serde_json::from_str(&json)?;
        let defaults = metadata["workspace_default_members"].take();
        let packages = metadata["packages"].as_array_mut().ok_or("cargo lists no packages")?;
        tree.packages = packages.iter_mut().map(|it| Package::of(it.take(), &defaults)).collect();
        tree.walk(&root())?;
        Ok(tree)
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// The files whose names end in `.` and one of `extensions`.
    pub(super) fn with(&self, extensions: &[&str]) -> impl Iterator<Item = (&str, &str)> {
        let files = self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
        files.filter(move |(path, _)| has_extension(path, extensions))
    }

    /// Returns true if there is a file or a folder at `path`.
    pub(super) fn has(&self, path: &str) -> bool {
        path.is_empty() || self.paths.contains_key(path)
    }

    /// The member of this name.
    pub(super) fn member(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }

    fn walk(&mut self, folder: &Path) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let (path, kind, name) = (entry.path(), entry.file_type()?, entry.file_name());
            let name = name.to_string_lossy();
            // Hidden folders but these are tools' own, and others are built.
            let belongs = [".cargo", ".ci"].contains(&&*name) || !name.starts_with('.');
            if kind.is_dir() && belongs && !["book", "target"].contains(&&*name) {
                self.walk(&path)?;
            } else if kind.is_file()
                && (has_extension(&name, &TEXT) || folder == root().join(".ci"))
            {
                self.files.insert(from_root(&path), fs::read_to_string(&path)?);
            }
            let bytes = if kind.is_file() { entry.metadata()?.len() } else { 0 };
            self.paths.insert(from_root(&path), bytes);
        }
        Ok(())
    }

    /// The tree of these files alone.
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let above =
            |path| Path::new(path).ancestors().skip(1).map(|it| it.to_string_lossy().into_owned());
        let folders = files.iter().flat_map(|&(path, _)| above(path)).map(|path| (path, 0));
        let sized = files.iter().map(|&(path, text)| (path.to_owned(), text.len() as u64));
        let paths = folders.chain(sized).collect();
        let files = files.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())).collect();
        Self { files, paths, packages: Vec::new(), titles: Ok(Vec::new()) }
    }
}

/// Returns true if the last part of `path` ends in `.` and one of `extensions`.
pub(super) fn has_extension(path: &str, extensions: &[&str]) -> bool {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| extensions.contains(&extension))
}

/// `path` as seen from the root, with `/` on every system.
fn from_root(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_string_lossy().replace('\\', "/")
}
