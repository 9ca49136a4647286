//! Text that is checked against what is made of it, read once: files of some folders, and what is packed.

use std::{collections::BTreeMap, fs, io::ErrorKind, path::Path};

use crate::{Result, packed};

/// Text by path. Paths are from the root, with `/`.
#[derive(Default)]
pub(crate) struct Files(BTreeMap<String, String>);

impl Files {
    /// Reads the files directly in `folders`, of which one that is not there holds nothing, and the texts of the file `packed`, as if
    /// each lay beside it: `a/ptx/kernels.ptx.lzma` holds `a/ptx/NAME.ptx`.
    pub(crate) fn load<'a>(
        root: &Path,
        folders: impl IntoIterator<Item = &'a str>,
        packed: &str,
    ) -> Result<Self> {
        let mut files = Self::default();
        folders.into_iter().try_for_each(|folder| files.read(root, folder))?;
        let (folder, kind) = packed.rsplit_once('/').ok_or("a packed file lies in a folder")?;
        let ending = kind.split('.').nth(1).unwrap_or_default();
        let texts = packed::read(&root.join(packed))?.into_iter();
        files.0.extend(texts.map(|(name, text)| (format!("{folder}/{name}.{ending}"), text)));
        Ok(files)
    }

    fn read(&mut self, root: &Path, folder: &str) -> Result<()> {
        let entries = match fs::read_dir(root.join(folder)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            let is_packed = entry.path().extension().is_some_and(|ending| ending == "lzma");
            if entry.file_type()?.is_file() && !is_packed {
                self.0.insert(path, fs::read_to_string(entry.path())?);
            }
        }
        Ok(())
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// The names without `ending` of the files with that ending directly in `folder`, sorted.
    pub(crate) fn stems<'a>(&'a self, folder: &str, ending: &str) -> impl Iterator<Item = &'a str> {
        let stem = move |path: &'a String| {
            let name = path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(ending)?;
            (!name.contains('/')).then_some(name)
        };
        self.0.keys().filter_map(stem)
    }

    /// Adds or replaces a file, here and not on the disk.
    pub(crate) fn put(&mut self, path: String, text: String) {
        self.0.insert(path, text);
    }
}

/// The path from the root that `name` means in the file `from`; nothing where it leads out of the root.
pub(crate) fn resolve(from: &str, name: &str) -> Option<String> {
    let mut path: Vec<_> = from.split('/').collect();
    path.pop();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(path.pop()?),
            name => path.push(name),
        }
    }
    Some(path.join("/"))
}

#[cfg(test)]
impl Files {
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_lies_beside_its_file_and_what_is_not_there_holds_nothing() {
        let root = crate::shell::root();
        let files = Files::load(&root, ["kernels", "no/such"], crate::kernels::PACKED).unwrap();
        for path in ["kernels/scale.cu", "crates/binade-cuda/ptx/scale.ptx"] {
            assert!(files.text(path).is_some(), "{path}");
        }
        assert!(Files::load(&root, ["no"], "no/kernels.ptx.lzma").unwrap().0.is_empty());
    }
}
