//! Part of a checkpoint by rank that one rank writes.

use crate::file::{self, in_file, in_format, put, sync_folder};
use crate::format::{MANIFEST, SLICES, checked, sealed, stated};
use crate::index::{Index, Share, Stored, tensors};
use crate::manifest::{Manifest, RankFile};
use crate::slices::Slices;
use crate::{Checkpoint, FileError, FormatError};
use binade_core::{DType, TensorSpec};
use binade_ranks::{Group, Ranks};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;
use std::iter;
use std::ops::Range;
use std::path::Path;

/// Slice of a tensor: the tensor's name, the first element, type and shape of the slice, and its bytes.
type Slice<'c> = (String, usize, TensorSpec, &'c [u8]);

/// Returns the slice of these elements.
fn slice(stored: Stored<'_>, own: Range<usize>) -> Result<Slice<'_>, FormatError> {
    let Stored { name, spec, slice, bytes } = stored;
    let (first, width) = (slice.map_or(0, |slice| slice.start), spec.dtype.bytes());
    let here = own.start.checked_sub(first).map(|start| start * width);
    let bytes = here.and_then(|start| bytes.get(start..start + own.len() * width));
    match bytes {
        Some(bytes) => Ok((name, own.start, TensorSpec::new(spec.dtype, [own.len()]), bytes)),
        None => Err(FormatError::Slice(name)),
    }
}

/// Part of one rank.
pub(crate) struct Part<'c> {
    index: Index,
    /// Type and shape of each whole tensor.
    specs: BTreeMap<String, (DType, Vec<usize>)>,
    /// Slices of this rank, each with its first element.
    slices: Vec<Slice<'c>>,
    /// Description of the contents that must be the same on all ranks.
    contents: String,
}

impl<'c> Part<'c> {
    /// Returns the part of a rank.
    pub(crate) fn of<D, G: Group>(
        checkpoint: &'c Checkpoint,
        rank: &Ranks<D, G>,
    ) -> Result<Self, FormatError> {
        let index = Index::of(checkpoint);
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(checked(&index)?.to_string().as_bytes());
        let (mut specs, mut slices) = (BTreeMap::new(), Vec::new());
        let shares = index.shares()?;
        for stored in tensors(checkpoint) {
            let Stored { name, spec, bytes, .. } = &stored;
            hasher.update(format!("{name} {spec}").as_bytes());
            specs.insert(name.clone(), (spec.dtype, spec.shape.clone()));
            let share = shares.get(name).copied().unwrap_or(Share::First);
            let mut own = share.of(spec.elements().unwrap_or_default(), &|name, elements| {
                rank.own_slice(name, elements)
            });
            if matches!(share, Share::First) {
                hasher.update(bytes);
                own.end *= usize::from(rank.group().rank() == 0);
            }
            if !own.is_empty() {
                slices.push(slice(stored, own)?);
            }
        }
        drop(shares);
        let (words, sum) = (&checkpoint.words, hasher.finalize());
        let contents = format!("words {words:?} and contents of the checksum {sum:08x}");
        Ok(Self { index, specs, slices, contents })
    }

    /// Returns a description of the contents that must be the same on all ranks.
    pub(crate) fn contents(&self) -> String {
        self.contents.clone()
    }

    /// Writes the rank's file and syncs it to disk.
    pub(crate) fn write(
        &self,
        path: &Path,
        (rank, ranks): (usize, usize),
    ) -> Result<RankFile, FileError> {
        let starts = self.slices.iter().map(|(name, start, ..)| (name.clone(), *start)).collect();
        let tensors =
            self.slices.iter().map(|(name, _, spec, bytes)| (name.clone(), spec.clone(), *bytes));
        let index = json!({ SLICES: Slices { rank, ranks, starts } });
        let bytes = in_format(path, sealed(&index, tensors))?;
        let crc32 = in_format(path, stated(&bytes))?;
        // An existing file belongs to a checkpoint, or to another program.
        let file = in_file("write", path, File::create_new(path))?;
        let written = put(file, &bytes).and_then(|()| sync_folder(path));
        in_file("write", path, written.inspect_err(|_| drop(file::remove(path))))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(RankFile { name, bytes: bytes.len() as u64, crc32 })
    }

    /// Puts the manifest of all ranks' files at `path`.
    pub(crate) fn place(self, path: &Path, files: Vec<RankFile>) -> Result<(), FileError> {
        if let Some(rank) = files.iter().position(|file| !file.is_there(path)) {
            let unseen = files[rank].path(path).unwrap_or_default();
            return Err(FileError::Unseen { rank, path: unseen });
        }
        let manifest = Manifest { files, specs: self.specs, index: self.index };
        let bytes = checked(&manifest);
        let bytes =
            bytes.and_then(|manifest| sealed(&json!({ MANIFEST: manifest }), iter::empty()));
        file::replace(path, &in_format(path, bytes)?)
    }
}
