//! Checkpoint files: written whole or not at all, with the previous checkpoint kept.
//!
//! The code uses only the standard library, so that the order of calls is visible here: it matters which file has which name at each moment, and a
//! crate for temporary files would hide a part of that order.

use crate::format::{self, Contents};
use crate::slices::{self, Reader};
use crate::{Checkpoint, FileError, FormatError, manifest};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Result of [`Checkpoint::read_or_previous`]: the last checkpoint at a path, or the previous one.
///
/// It has no accessor for both cases. The necessary `match` shows the loss of steps.
#[derive(Debug)]
#[must_use = "steps are lost where this is `Previous`: match on it, and tell the user"]
pub enum Loaded {
    /// Checkpoint that was written last.
    Last(Checkpoint),
    /// Previous checkpoint, from `NAME.previous`. The steps between the two are lost.
    Previous {
        /// Checkpoint that was read.
        checkpoint: Checkpoint,
        /// Error of the last file.
        why: FileError,
    },
}

/// Returns the path of the previous checkpoint of `path`.
pub fn previous(path: &Path) -> PathBuf {
    beside(path, "previous")
}

impl Checkpoint {
    /// Writes the checkpoint to `path`. An existing file is kept as `NAME.previous`.
    ///
    /// If the process or the machine stops at any time, one of the two files is whole: the new file is written beside them and synced to disk before
    /// anything is renamed. Only one process may write to a path at a time.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written. The earlier files are then still whole.
    pub fn write(&self, path: &Path) -> Result<(), FileError> {
        replace(path, &in_format(path, self.to_bytes())?)
    }

    /// Reads the checkpoint at `path`, never the previous one.
    ///
    /// # Errors
    ///
    /// Returns an error if the file is missing or not whole: [`FileError::OnlyPrevious`] if the previous checkpoint is whole.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        match Self::read_or_previous(path)? {
            Loaded::Last(checkpoint) => Ok(checkpoint),
            Loaded::Previous { why, .. } => {
                Err(FileError::OnlyPrevious { why: Box::new(why), previous: previous(path) })
            }
        }
    }

    /// Reads the checkpoint at `path`, or the previous one if that is not whole. A checkpoint written by rank is read whole.
    ///
    /// # Errors
    ///
    /// Returns the error of the last checkpoint if there is none, or if neither is whole.
    pub fn read_or_previous(path: &Path) -> Result<Loaded, FileError> {
        let why = match open(path) {
            Ok(checkpoint) => return Ok(Loaded::Last(checkpoint)),
            Err(why) => why,
        };
        let previous = previous(path);
        match open(&previous) {
            Ok(checkpoint) => Ok(Loaded::Previous { checkpoint, why }),
            Err(error) => Err(neither(path, why, &error)),
        }
    }
}

/// Returns the error of a path at which neither the last nor the previous checkpoint could be read.
pub(crate) fn neither(path: &Path, last: FileError, before: &FileError) -> FileError {
    let previous = previous(path);
    if is_missing(&last, path) && is_missing(before, &previous) {
        return FileError::None { path: path.to_owned(), previous };
    }
    last
}

fn is_missing(error: &FileError, missing: &Path) -> bool {
    matches!(error, FileError::Io { source, path, .. } if source.kind() == ErrorKind::NotFound && path == missing)
}

fn open(path: &Path) -> Result<Checkpoint, FileError> {
    let bytes = in_file("read", path, fs::read(path))?;
    match in_format(path, format::read(&bytes))? {
        Contents::Whole(checkpoint) => Ok(checkpoint),
        Contents::Manifest(manifest) => slices::read(path, manifest, &Reader::ALONE),
    }
}

/// Replaces the checkpoint at `path` by a file of these bytes, keeps the old one as the previous checkpoint, and removes rank files that neither
/// names.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let partial = beside(path, "partial");
    in_file("write", &partial, File::create(&partial).and_then(|file| put(file, bytes)))?;
    let linked = in_file("keep the last of", path, keep(path))?;
    in_file("replace", path, fs::rename(&partial, path).and_then(|()| sync_folder(path)))?;
    if let Some(linked) = linked {
        in_file("keep the last of", path, fs::rename(&linked, previous(path)))?;
        // If both names are of one file already, renaming does nothing and leaves this name.
        in_file("remove", &linked, remove(&linked))?;
        in_file("keep the last of", path, sync_folder(path))?;
    }
    manifest::clean(path)
}

/// Fills a file and syncs it to disk.
pub(crate) fn put(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync_all()
}

/// Gives the last checkpoint a second name by a hard link, and returns that name. It becomes the previous checkpoint once the last is replaced. On a
/// file system without hard links it becomes the previous one at once. A file that is not whole is not kept, since the previous one may be the only
/// whole file.
fn keep(path: &Path) -> io::Result<Option<PathBuf>> {
    let linked = beside(path, "linked");
    remove(&linked)?;
    if !is_kept(path)? {
        return Ok(None);
    }
    if fs::hard_link(path, &linked).is_ok() {
        return Ok(Some(linked));
    }
    fs::rename(path, previous(path))?;
    sync_folder(path)?;
    Ok(None)
}

/// Returns true if `path` has a checkpoint to keep.
///
/// # Errors
///
/// Returns an error if another program wrote the file, which is then not replaced.
pub(crate) fn is_kept(path: &Path) -> io::Result<bool> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        read => read?,
    };
    match format::verify(&bytes) {
        Ok(()) => {}
        Err(error @ (FormatError::Foreign | FormatError::NotSafetensors(_))) => {
            return Err(io::Error::other(error.to_string()));
        }
        Err(_) => return Ok(false),
    }
    Ok(manifest::of(&bytes).is_none_or(|manifest| manifest.is_there(path)))
}

pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns `NAME.suffix` in the same folder.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

/// Returns the folder of a file.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Syncs the folder's names to disk, if the system can.
#[cfg(unix)]
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder(path))?.sync_all()
}

#[cfg(not(unix))]
pub(crate) fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Adds the path and the operation to an error of the operating system.
pub(crate) fn in_file<T>(
    what: &'static str,
    path: &Path,
    done: io::Result<T>,
) -> Result<T, FileError> {
    done.map_err(|source| FileError::Io { what, path: path.to_owned(), source })
}

/// Adds the path to an error of a file's bytes.
pub(crate) fn in_format<T>(path: &Path, read: Result<T, FormatError>) -> Result<T, FileError> {
    read.map_err(|source| FileError::Format { path: path.to_owned(), source })
}
