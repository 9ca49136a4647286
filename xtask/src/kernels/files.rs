//! The sources, the PTX and the manifests, read once: what the checks look at.

use std::{collections::BTreeMap, fs, io::ErrorKind, path::Path};

use crate::{
    Result,
    kernels::{
        PACKED,
        set::{BACKEND, SETS},
    },
    packed::{self, Texts},
};

/// Folders of headers, besides those of the sets.
const HEADERS: [&str; 1] = ["kernels/lib"];

/// Text by path. Paths are from the root, with `/`.
#[derive(Default)]
pub(super) struct Files(BTreeMap<String, String>);

impl Files {
    /// What lies in the folders of kernels and of PTX under `root`; a folder that is not there holds nothing.
    pub(super) fn load(root: &Path) -> Result<Self> {
        let mut files = Self::default();
        for folder in SETS.iter().flat_map(|set| [set.sources, set.ptx]).chain(HEADERS) {
            files.read(root, folder)?;
        }
        let shipped = packed::read(&root.join(PACKED))?;
        files.0.extend(shipped.into_iter().map(|(name, text)| (BACKEND.compiled(&name), text)));
        Ok(files)
    }

    /// The PTX of every kernel of the backend, which is packed.
    pub(super) fn shipped(&self) -> Texts {
        let text =
            |name: &str| Some((name.to_owned(), self.text(&BACKEND.compiled(name))?.to_owned()));
        BACKEND.names(self).into_iter().filter_map(text).collect()
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
                self.0.insert(format!("{folder}/{name}"), fs::read_to_string(entry.path())?);
            }
        }
        Ok(())
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// The names without `ending` of the files with that ending directly in `folder`, sorted.
    pub(super) fn stems<'a>(&'a self, folder: &str, ending: &str) -> impl Iterator<Item = &'a str> {
        let stem = move |path: &'a String| {
            let name = path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(ending)?;
            (!name.contains('/')).then_some(name)
        };
        self.0.keys().filter_map(stem)
    }

    /// Adds or replaces a file, here and not on the disk.
    pub(super) fn put(&mut self, path: String, text: String) {
        self.0.insert(path, text);
    }
}

/// Whether a file called `name` is a kernel, a header, PTX or a manifest.
fn belongs(name: &str) -> bool {
    name == "MANIFEST" || [".cu", ".cuh", ".ptx"].iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
impl Files {
    pub(in crate::kernels) fn of(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_folder_itself_and_of_the_ending() {
        let files = Files::of(&[("k/b.cu", ""), ("k/a.cu", ""), ("k/c.cuh", ""), ("k/d/e.cu", "")]);
        assert_eq!(files.stems("k", ".cu").collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn a_repository_without_kernels_is_empty() {
        assert!(Files::load(Path::new("no/such/folder")).unwrap().0.is_empty());
    }

    #[test]
    fn this_repository_has_the_planted_bugs_and_their_ptx() {
        let files = Files::load(&crate::shell::root()).unwrap();
        for path in ["kernels/faults/scale.cu", "crates/binade-ptx/tests/fixtures/scale.ptx"] {
            assert!(files.text(path).is_some(), "{path}");
        }
    }
}
