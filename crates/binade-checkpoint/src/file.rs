//! Checkpoints on the disk: written whole or not at all, with the one before it kept.
//!
//! The standard library does all of it, so that the order of calls can be read here: it matters which file has which name at
//! which moment, and a crate for temporary files would decide a part of it.

use crate::{Checkpoint, FileError, FormatError, format};
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
        let bytes = self.to_bytes();
        let bytes = bytes.map_err(|source| FileError::Format { path: path.to_owned(), source })?;
        let partial = beside(path, "partial");
        in_file("write", &partial, put(&partial, &bytes))?;
        in_file("keep the last of", path, keep(path))?;
        in_file("replace", path, fs::rename(&partial, path).and_then(|()| sync_folder(path)))
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

    /// Reads the checkpoint at `path`, or the one before it if that is not whole.
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
            Err(FileError::Io { source, .. })
                if source.kind() == ErrorKind::NotFound && is_missing(&why) =>
            {
                Err(FileError::None { path: path.to_owned(), previous })
            }
            Err(_) => Err(why),
        }
    }
}

fn is_missing(error: &FileError) -> bool {
    matches!(error, FileError::Io { source, .. } if source.kind() == ErrorKind::NotFound)
}

fn open(path: &Path) -> Result<Checkpoint, FileError> {
    let bytes = in_file("read", path, fs::read(path))?;
    let checkpoint = Checkpoint::from_bytes(&bytes);
    checkpoint.map_err(|source| FileError::Format { path: path.to_owned(), source })
}

/// Writes a file and brings it to the disk.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Keeps the last checkpoint as the previous one. A file that is not whole is not kept: the previous may be the only one that is.
fn keep(path: &Path) -> io::Result<()> {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        read => match format::verify(&read?) {
            Ok(()) => {}
            // A file of another program is not replaced.
            Err(error @ (FormatError::Foreign | FormatError::NotSafetensors(_))) => {
                return Err(io::Error::other(error.to_string()));
            }
            Err(_) => return Ok(()),
        },
    }
    let (linked, previous) = (beside(path, "linked"), previous(path));
    remove(&linked)?;
    // A second name, if the file system has such, keeps `path` in place all the time.
    if fs::hard_link(path, &linked).is_ok() {
        fs::rename(&linked, &previous)?;
        // If both were one file already, renaming does nothing and leaves the name.
        remove(&linked)?;
    } else {
        fs::rename(path, &previous)?;
    }
    sync_folder(path)
}

fn remove(path: &Path) -> io::Result<()> {
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

/// Brings the folder's names to the disk, if the system can.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Names the path and what was tried in an error of the operating system.
fn in_file<T>(what: &'static str, path: &Path, done: io::Result<T>) -> Result<T, FileError> {
    done.map_err(|source| FileError::Io { what, path: path.to_owned(), source })
}
