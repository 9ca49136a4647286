//! The members of the workspace, as cargo reads them.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::{Result, shell::Call, tidy::tree};

/// A member of the workspace.
#[derive(Clone, Deserialize)]
pub(super) struct Package {
    pub(super) name: String,
    /// From the root once loaded.
    #[serde(rename = "manifest_path")]
    pub(super) manifest: String,
    pub(super) dependencies: Vec<Dependency>,
    /// As cargo tells packages apart.
    pub(super) id: String,
    /// Whether cargo takes it where no package is named.
    #[serde(skip)]
    pub(super) is_default: bool,
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
    workspace_default_members: Vec<String>,
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

/// The members, as cargo reads them; no network and no lock file are needed.
pub(super) fn load(root: &Path) -> Result<Vec<Package>> {
    let json = Call::cargo("metadata --no-deps --offline --format-version 1").read()?;
    let Metadata { mut packages, workspace_default_members: defaults } =
        serde_json::from_str(&json)?;
    for package in &mut packages {
        package.is_default = defaults.contains(&package.id);
        package.manifest = tree::from_root(root, Path::new(&package.manifest));
    }
    Ok(packages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::root;

    #[test]
    fn members_are_named_from_the_root() {
        let members = load(&root()).unwrap();
        let this = members.iter().find(|package| package.name == "xtask").unwrap();
        assert_eq!((this.folder(), this.is_crate()), ("xtask", false));
    }
}
