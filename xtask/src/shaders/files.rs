//! The shaders and what is composed of them, read once.

use std::{collections::BTreeMap, fs, io::ErrorKind, path::Path};

use crate::Result;

/// Where shaders are written.
pub(super) const SOURCES: &str = "shaders";

/// Where what they are composed to is committed.
pub(super) const COMPOSED: &str = "crates/binade-wgpu/wgsl";

/// What several shaders use.
const LIBRARY: &str = "shaders/lib";

/// Text by path. Paths are from the root, with `/`.
#[derive(Default)]
pub(super) struct Files(BTreeMap<String, String>);

impl Files {
    /// What lies in the folders of shaders; one that is not there holds nothing.
    pub(super) fn load(root: &Path) -> Result<Self> {
        let mut files = Self::default();
        for folder in [SOURCES, LIBRARY, COMPOSED] {
            files.read(root, folder)?;
        }
        Ok(files)
    }

    fn read(&mut self, root: &Path, folder: &str) -> Result<()> {
        let entries = match fs::read_dir(root.join(folder)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type()?.is_file() && (folder == COMPOSED || is_shader(&name)) {
                self.0.insert(format!("{folder}/{name}"), fs::read_to_string(entry.path())?);
            }
        }
        Ok(())
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// The shaders' names, sorted.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.stems(SOURCES)
    }

    /// The names of what they use.
    pub(super) fn libraries(&self) -> impl Iterator<Item = &str> {
        self.stems(LIBRARY)
    }

    fn stems<'a>(&'a self, folder: &str) -> impl Iterator<Item = &'a str> {
        self.0.keys().filter_map(move |path| {
            let name = path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".wgsl")?;
            (!name.contains('/')).then_some(name)
        })
    }

    /// Shaders and what they use, with their text.
    pub(super) fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.0.iter().map(|(path, text)| (&**path, &**text));
        all.filter(|(path, _)| path.starts_with(SOURCES))
    }

    /// The paths of what is committed.
    pub(super) fn composed(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str).filter(|path| path.starts_with(COMPOSED))
    }
}

fn is_shader(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "wgsl")
}

#[cfg(test)]
impl Files {
    pub(in crate::shaders) fn of(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())).collect())
    }
}
