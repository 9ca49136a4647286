//! Checkpoints on the disk: written whole or not at all, with the one before it kept.
//!
//! The standard library does all of it, so that the order of calls can be read here: it matters which file has which name at
//! which moment, and a crate for temporary files would decide a part of it.

use crate::format::{self, Contents};
use crate::slices::{self, Reader};
use crate::{Checkpoint, FileError, FormatError, manifest};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Checkpoint that [`Checkpoint::read_or_previous`] read: the last at a path, or the one before it.
///
/// There is no accessor for both: a `match` is the only way in, so that the loss of steps cannot be overlooked.
#[derive(Debug)]
#[must_use = "steps are lost where this is `Previous`: match on it, and tell the user"]
pub enum Loaded {
    /// Checkpoint that was written last.
    Last(Checkpoint),
    /// Checkpoint before the last, from `NAME.previous`. The steps between the two are lost.
    Previous {
        /// Checkpoint that was read.
        checkpoint: Checkpoint,
        /// Error of the last file.
        why: FileError,
    },
}

/// Returns the path of the checkpoint before the one at `path`.
pub fn previous(path: &Path) -> PathBuf {
    beside(path, "previous")
}

impl Checkpoint {
    /// Writes it to `path`. The file there before is kept as `NAME.previous`.
    ///
    /// If the process or the machine stops at any time, one of the two is whole: a new file is written beside them and brought to
    /// the disk before anything is renamed. One process writes to a path at a time.
    ///
    /// # Errors
    ///
    /// If the file cannot be written; the ones before it are whole then.
    pub fn write(&self, path: &Path) -> Result<(), FileError> {
        replace(path, &in_format(path, self.to_bytes())?)
    }

    /// Reads the checkpoint at `path`, and no other.
    ///
    /// # Errors
    ///
    /// If there is none, or it is not whole. If the one before it is whole, this is [`FileError::OnlyPrevious`].
    pub fn read(path: &Path) -> Result<Self, FileError> {
        match Self::read_or_previous(path)? {
            Loaded::Last(checkpoint) => Ok(checkpoint),
            Loaded::Previous { why, .. } => {
                Err(FileError::OnlyPrevious { why: Box::new(why), previous: previous(path) })
            }
        }
    }

    /// Reads the checkpoint at `path`, or the one before it if that is not whole. One that ranks wrote by rank is read whole.
    ///
    /// # Errors
    ///
    /// If there is none, or neither is whole: what is wrong with the last.
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

/// Returns the error of a path where neither the last nor the previous checkpoint was read.
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

/// Replaces the checkpoint at `path` by a file of these bytes, keeps the one there before as the previous one, and removes files of ranks
/// that neither names.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let partial = beside(path, "partial");
    in_file("write", &partial, File::create(&partial).and_then(|file| put(file, bytes)))?;
    let linked = in_file("keep the last of", path, keep(path))?;
    in_file("replace", path, fs::rename(&partial, path).and_then(|()| sync_folder(path)))?;
    if let Some(linked) = linked {
        in_file("keep the last of", path, fs::rename(&linked, previous(path)))?;
        // If both were one file already, renaming does nothing and leaves the name.
        in_file("remove", &linked, remove(&linked))?;
        in_file("keep the last of", path, sync_folder(path))?;
    }
    manifest::clean(path)
}

/// Fills a file and brings it to the disk.
pub(crate) fn put(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync_all()
}

/// Gives the last checkpoint a second name, which it returns, to become the previous one once the last is replaced. Where the file system
/// has no second names it is the previous one at once. A file that is not whole is not kept: the previous may be the only one that is.
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

/// Returns true if there is a checkpoint to be kept.
///
/// # Errors
///
/// If it is a file of another program, which is not replaced.
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

/// Brings the folder's names to the disk, if the system can.
#[cfg(unix)]
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder(path))?.sync_all()
}

#[cfg(not(unix))]
pub(crate) fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Names the path and what was tried in an error of the operating system.
pub(crate) fn in_file<T>(
    what: &'static str,
    path: &Path,
    done: io::Result<T>,
) -> Result<T, FileError> {
    done.map_err(|source| FileError::Io { what, path: path.to_owned(), source })
}

/// Names the path in an error of a file's bytes.
pub(crate) fn in_format<T>(path: &Path, read: Result<T, FormatError>) -> Result<T, FileError> {
    read.map_err(|source| FileError::Format { path: path.to_owned(), source })
}
