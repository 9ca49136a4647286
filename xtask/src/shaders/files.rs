//! The shaders and what is composed of them, read once.

use std::{collections::BTreeMap, fs, io::ErrorKind, path::Path};

use crate::{
    Result,
    packed::{self, Texts},
    shaders::PACKED,
};

/// Where shaders are written.
pub(super) const SOURCES: &str = "shaders";

/// Where what they are composed to is committed.
pub(super) const COMPOSED: &str = "crates/binade-wgpu/wgsl";

/// What several shaders use.
const LIBRARY: &str = "shaders/lib";

/// Text by path, and what is packed by its name. Paths are from the root, with `/`.
#[derive(Default)]
pub(super) struct Files {
    texts: BTreeMap<String, String>,
    pub(super) packed: Texts,
}

impl Files {
    /// What lies in the folders of shaders; one that is not there holds nothing.
    pub(super) fn load(root: &Path) -> Result<Self> {
        let mut files = Self { packed: packed::read(&root.join(PACKED))?, ..Self::default() };
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
            if entry.file_type()?.is_file() && belongs(&name) {
                self.texts.insert(format!("{folder}/{name}"), fs::read_to_string(entry.path())?);
            }
        }
        Ok(())
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
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
        self.texts.keys().filter_map(move |path| {
            let name = path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".wgsl")?;
            (!name.contains('/')).then_some(name)
        })
    }

    /// Shaders and what they use, with their text.
    pub(super) fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.texts.iter().map(|(path, text)| (&**path, &**text));
        all.filter(|(path, _)| path.starts_with(SOURCES))
    }
}

/// Whether a file called `name` is a shader, or a table that is committed beside the packed ones.
fn belongs(name: &str) -> bool {
    ["ENTRIES", "MANIFEST"].contains(&name)
        || Path::new(name).extension().is_some_and(|extension| extension == "wgsl")
}

#[cfg(test)]
impl Files {
    pub(in crate::shaders) fn of(files: &[(&str, &str)]) -> Self {
        let texts = files.iter().map(|&(path, text)| (path.to_owned(), text.to_owned()));
        Self { texts: texts.collect(), packed: Texts::new() }
    }
}
