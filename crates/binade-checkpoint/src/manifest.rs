//! Manifest of a checkpoint by rank: the names of all ranks' files, and the contents that are in none of them.
//!
//! Files of ranks are called `NAME.STEP.RANK-of-RANKS`, after the manifest `NAME`. Each checkpoint has a greater `STEP` than all earlier ones, so
//! that no file of a checkpoint is ever overwritten.

use crate::file::{folder, in_file, previous, remove};
use crate::index::Index;
use crate::{FileError, format};
use binade_core::{DType, TensorSpec};
use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Index of a manifest.
#[derive(Deserialize, Serialize)]
pub(crate) struct Manifest {
    /// Files of the ranks, in their order.
    pub(crate) files: Vec<RankFile>,
    /// Type and shape of each whole tensor, by its name in the files.
    pub(crate) specs: BTreeMap<String, (DType, Vec<usize>)>,
    pub(crate) index: Index,
}

/// File of a rank, as described in the manifest.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct RankFile {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// Checksum in the file's header.
    pub(crate) crc32: String,
}

impl RankFile {
    /// Returns the description as text, for the other ranks.
    pub(crate) fn to_text(&self) -> String {
        format!("{} {} {}", self.bytes, self.crc32, self.name)
    }

    /// Reads the description from another rank's text.
    pub(crate) fn of_text(text: &str) -> Self {
        let mut words = text.splitn(3, ' ');
        let mut next = || words.next().unwrap_or_default().to_owned();
        let (bytes, crc32, name) = (next(), next(), next());
        Self { bytes: bytes.parse().unwrap_or_default(), crc32, name }
    }

    /// Returns the file's path beside the manifest; `None` for a name that leaves the folder.
    pub(crate) fn path(&self, manifest: &Path) -> Option<PathBuf> {
        let name = Path::new(&self.name);
        (name.file_name() == Some(name.as_os_str())).then(|| folder(manifest).join(name))
    }

    /// Returns true if there is a file of this name and length.
    pub(crate) fn is_there(&self, manifest: &Path) -> bool {
        let length = self.path(manifest).and_then(|path| Some(fs::metadata(path).ok()?.len()));
        length == Some(self.bytes)
    }
}

impl Manifest {
    /// Returns type and shape of each whole tensor.
    pub(crate) fn specs(&self) -> impl Iterator<Item = (&str, TensorSpec)> {
        let spec = |(dtype, shape): &(DType, Vec<usize>)| TensorSpec::new(*dtype, shape.as_slice());
        self.specs.iter().map(move |(name, form)| (name.as_str(), spec(form)))
    }

    /// Returns true if all files of ranks are there.
    pub(crate) fn is_there(&self, path: &Path) -> bool {
        self.files.iter().all(|file| file.is_there(path))
    }
}

/// Returns the manifest of these bytes, if they are one.
pub(crate) fn of(bytes: &[u8]) -> Option<Manifest> {
    format::verify(bytes).ok()?;
    let (_, metadata) = SafeTensors::read_metadata(bytes).ok()?;
    format::decoded(format::index(&metadata).ok()?.get(format::MANIFEST)?).ok()
}

/// Returns the name of a rank's file.
pub(crate) fn file_name(path: &Path, step: u64, (rank, ranks): (usize, usize)) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{name}.{step}.{rank}-of-{ranks}")
}

/// Returns the step in the name of a file, if it is a rank's file of the manifest at `path`.
fn step(path: &Path, name: &OsStr) -> Option<u64> {
    let own = path.file_name()?.to_str()?;
    let (step, place) = name.to_str()?.strip_prefix(own)?.strip_prefix('.')?.split_once('.')?;
    let (rank, ranks) = place.split_once("-of-")?;
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty();
    (is_number(rank) && is_number(ranks) && is_number(step)).then(|| step.parse().ok())?
}

/// Returns the steps and names of all files of ranks beside a manifest, of all checkpoints.
fn files(path: &Path) -> io::Result<Vec<(u64, String)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder(path))? {
        let name = entry?.file_name();
        files.extend(step(path, &name).zip(name.into_string().ok()));
    }
    Ok(files)
}

/// Returns a step greater than that of every existing file.
pub(crate) fn next_step(path: &Path) -> Result<u64, FileError> {
    let files = in_file("look beside", path, files(path))?;
    Ok(files.into_iter().map(|(step, _)| step + 1).max().unwrap_or(1))
}

/// Removes files of ranks that neither the manifest at `path` nor the previous one names.
pub(crate) fn clean(path: &Path) -> Result<(), FileError> {
    let files = in_file("look beside", path, files(path))?;
    if files.is_empty() {
        return Ok(());
    }
    let mut named = BTreeSet::new();
    for manifest in [path.to_owned(), previous(path)] {
        let manifest = fs::read(manifest).ok().and_then(|bytes| of(&bytes));
        named.extend(manifest.into_iter().flat_map(|it| it.files).map(|file| file.name));
    }
    for (_, name) in files.into_iter().filter(|(_, name)| !named.contains(name)) {
        let file = folder(path).join(name);
        in_file("remove", &file, remove(&file))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ranks_files_are_told_from_all_others() {
        let path = Path::new("folder/run.safetensors");
        let name = file_name(path, 17, (3, 12));
        assert_eq!(name, "run.safetensors.17.3-of-12");
        assert_eq!(step(path, name.as_ref()), Some(17));
        for other in [
            "run.safetensors",
            "run.safetensors.previous",
            "run.safetensors.17.3-of-",
            "run.safetensors.17.+3-of-12",
            "run.safetensors.1.17.3-of-12",
            "run.safetensors17.3-of-12",
            "run.17.3-of-12",
            "run.safetensors.17.3-of-12.partial",
            "run.safetensors.99999999999999999999.3-of-12",
        ] {
            assert_eq!(step(path, other.as_ref()), None, "{other}");
        }
    }

    #[test]
    fn a_name_that_leaves_the_folder_is_none() {
        let path = |name: &str| {
            let file = RankFile { name: name.into(), bytes: 0, crc32: String::new() };
            file.path(Path::new("folder/run"))
        };
        assert_eq!(path("run.1.0-of-1"), Some("folder/run.1.0-of-1".into()));
        for name in ["../run", "/run", "a/b", "", "..", "."] {
            assert_eq!(path(name), None, "{name}");
        }
    }
}
