//! A checkpoint on the disk: written whole or not at all, with the one before it kept.
//!
//! The standard library does all of it, so that the order of calls is read here: what is kept under which name at which moment
//! is the point, and a crate for temporary files would decide a part of it.

use crate::{Checkpoint, FileError, FormatError, format};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A checkpoint that was read, and from where.
#[derive(Debug)]
pub struct Loaded {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// Where it was.
    pub path: PathBuf,
    /// Why it is the previous one; `None` where it is the last that was written. Tell the user: steps are lost.
    pub fallback: Option<FileError>,
}

/// Where the checkpoint before the one at `path` is kept.
pub fn previous(path: &Path) -> PathBuf {
    beside(path, "previous")
}

impl Checkpoint {
    /// Writes it to `path`, in place of what is there, which is kept as `NAME.previous`.
    ///
    /// Whenever the process or the machine stops, one of the two is whole: a new file is written beside them and brought to
    /// the disk before anything is renamed. One process writes to a path at a time.
    ///
    /// # Errors
    ///
    /// When the file cannot be written; the ones before it are whole then.
    pub fn write(&self, path: &Path) -> Result<(), FileError> {
        let bytes = self.to_bytes();
        let bytes = bytes.map_err(|source| FileError::Format { path: path.to_owned(), source })?;
        let partial = beside(path, "partial");
        told("write", &partial, put(&partial, &bytes))?;
        told("keep the last of", path, keep(path))?;
        told("replace", path, fs::rename(&partial, path).and_then(|()| sync_folder(path)))
    }

    /// Reads it from `path`, or the one before it where that is not whole, which [`Loaded::fallback`] tells.
    ///
    /// # Errors
    ///
    /// When there is none, or neither is whole: what is wrong with the last.
    pub fn read(path: &Path) -> Result<Loaded, FileError> {
        let wrong = match open(path) {
            Ok(checkpoint) => {
                return Ok(Loaded { checkpoint, path: path.to_owned(), fallback: None });
            }
            Err(wrong) => wrong,
        };
        let previous = previous(path);
        match open(&previous) {
            Ok(checkpoint) => Ok(Loaded { checkpoint, path: previous, fallback: Some(wrong) }),
            Err(FileError::Io { source, .. })
                if source.kind() == ErrorKind::NotFound && is_missing(&wrong) =>
            {
                Err(FileError::None { path: path.to_owned(), previous })
            }
            Err(_) => Err(wrong),
        }
    }
}

fn is_missing(error: &FileError) -> bool {
    matches!(error, FileError::Io { source, .. } if source.kind() == ErrorKind::NotFound)
}

fn open(path: &Path) -> Result<Checkpoint, FileError> {
    let bytes = told("read", path, fs::read(path))?;
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
            // Someone else's file is not ours to replace.
            Err(error @ (FormatError::Foreign | FormatError::NotSafetensors(_))) => {
                return Err(io::Error::other(error.to_string()));
            }
            Err(_) => return Ok(()),
        },
    }
    let (linked, previous) = (beside(path, "linked"), previous(path));
    remove(&linked)?;
    // By a second name where the file system has such, so that `path` is there all the time.
    if fs::hard_link(path, &linked).is_ok() {
        fs::rename(&linked, &previous)?;
        // Where both were one file already, renaming does nothing and leaves the name.
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

/// `NAME.suffix` in the same folder.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

/// Brings the folder's names to the disk, where the system can.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

fn told<T>(what: &'static str, path: &Path, done: io::Result<T>) -> Result<T, FileError> {
    done.map_err(|source| FileError::Io { what, path: path.to_owned(), source })
}
