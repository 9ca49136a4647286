//! Trees for the rules' own tests: files and members that no disk holds.

use std::path::{Path, PathBuf};

use crate::tidy::{
    package::{Dependency, Package},
    tree::Tree,
};

impl Tree {
    pub(in crate::tidy) fn of(files: &[(&str, &str)]) -> Self {
        let above =
            |path| Path::new(path).ancestors().map(|above| above.to_str().unwrap().to_owned());
        let folders = files.iter().flat_map(|&(path, _)| above(path)).map(|path| (path, 0));
        let sizes = files.iter().map(|&(path, text)| (path.to_owned(), text.len() as u64));
        let paths = folders.chain(sizes).collect();
        let files = files.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())).collect();
        Self { files, paths, packages: Vec::new() }
    }

    /// Adds a member `name` in `folder` with normal dependencies on `ours` and `foreign` crates.
    pub(in crate::tidy) fn with(
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
            id: name.into(),
            is_default: true,
        });
        self
    }

    /// Makes `name`, a member, one that cargo takes only where it is named.
    pub(in crate::tidy) fn heavy(mut self, name: &str) -> Self {
        let members = self.packages.iter_mut().filter(|package| package.name == name);
        members.for_each(|package| package.is_default = false);
        self
    }

    /// Changes every dependency of every member.
    pub(in crate::tidy) fn each_dependency(mut self, change: impl Fn(&mut Dependency)) -> Self {
        self.packages.iter_mut().flat_map(|package| &mut package.dependencies).for_each(change);
        self
    }
}
