//! Slices of tensors in files of ranks. Ranges of elements are read, one file after the other, while the file's checksum is computed.

use crate::file::{in_file, in_format};
use crate::format::{self, LENGTH, SLICES, checksum_of, stated};
use crate::index::{Own, Share, Tensors};
use crate::manifest::Manifest;
use crate::{Checkpoint, FileError, FormatError, dtype};
use binade_core::{DType, RawTensor, TensorSpec};
use safetensors::tensor::Metadata;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

/// Index of a rank's file.
#[derive(Deserialize, Serialize)]
pub(crate) struct Slices {
    pub(crate) rank: usize,
    pub(crate) ranks: usize,
    /// First element of each tensor's slice.
    pub(crate) starts: BTreeMap<String, usize>,
}

/// Reader of a checkpoint by rank, which may be one of several.
pub(crate) struct Reader<'r> {
    /// Number of this reader, from 0.
    pub(crate) rank: usize,
    /// Number of readers, each of which checks a part of the files.
    pub(crate) ranks: usize,
    /// Elements that this reader needs; `None` if it needs whole tensors.
    pub(crate) own: Option<&'r Own<'r>>,
}

impl Reader<'_> {
    /// Reader that checks and needs everything.
    pub(crate) const ALONE: Self = Self { rank: 0, ranks: 1, own: None };
}

/// Reads the part of the checkpoint at `path` that `reader` needs. `path` is that of the manifest.
pub(crate) fn read(
    path: &Path,
    manifest: Manifest,
    reader: &Reader<'_>,
) -> Result<Checkpoint, FileError> {
    let mut files = Vec::new();
    for named in &manifest.files {
        let outside = || index_error(format!("`{}` is no name of a file beside it", named.name));
        files.push(in_format(path, named.path(path).ok_or_else(outside))?);
    }
    // Lengths come first, so that no more memory is allocated than the files fill.
    for (named, file) in manifest.files.iter().zip(&files) {
        let found = in_file("read", file, fs::metadata(file))?.len();
        in_format(file, same(&format!("{found} bytes"), &format!("{} bytes", named.bytes)))?;
    }
    let mut targets = in_format(path, targets(&manifest, reader))?;
    for (rank, (named, file)) in manifest.files.iter().zip(&files).enumerate() {
        let mut open = in_file("read", file, File::open(file))?;
        if rank % reader.ranks == reader.rank {
            let found = in_file("read", file, checksum_of(&open))?;
            in_format(file, is_written(&open_header(file, &mut open)?, found))?;
        }
        let header = open_header(file, &mut open)?;
        let [found, expected] = [&in_format(file, stated(&header))?, &named.crc32];
        let checksum = |sum: &str| format!("the checksum {sum}");
        in_format(file, same(&checksum(found), &checksum(expected)))?;
        for slice in in_format(file, slices(&header, (rank, files.len())))? {
            let unnamed = || index_error(format!("its manifest does not name `{}`", slice.name));
            let target = targets.get_mut(&slice.name).ok_or_else(unnamed);
            let target = in_format(file, target)?;
            in_format(file, target.add(&slice))?;
            in_file("read", file, target.fill(&slice, &mut open))?;
        }
    }
    let tensors =
        targets.into_iter().map(|(name, target)| Ok((name.clone(), target.tensor(&name)?)));
    let tensors = in_format(path, tensors.collect::<Result<Tensors, _>>())?;
    in_format(path, manifest.index.with(tensors))
}

/// Checks a file's checksum against the one that its header states.
fn is_written(header: &[u8], found: u32) -> Result<(), FormatError> {
    let expected = stated(header)?;
    if format!("{found:08x}") == expected {
        return Ok(());
    }
    Err(FormatError::Checksum { found, expected })
}

fn same(found: &str, expected: &str) -> Result<(), FormatError> {
    if found == expected {
        return Ok(());
    }
    Err(FormatError::OtherFile { found: found.to_owned(), expected: expected.to_owned() })
}

fn index_error(why: String) -> FormatError {
    FormatError::Index(why)
}

/// Reads the header of a rank's file, and the number of its bytes.
fn open_header(path: &Path, file: &mut File) -> Result<Vec<u8>, FileError> {
    let mut header = Vec::new();
    let mut read = || {
        file.rewind()?;
        file.by_ref().take(LENGTH as u64).read_to_end(&mut header)?;
        let length = header.as_slice().try_into().map_or(0, u64::from_le_bytes);
        file.by_ref().take(length).read_to_end(&mut header)
    };
    in_file("read", path, read()).map(|_| header)
}

/// Slice of a tensor in a rank's file.
struct Slice {
    name: String,
    dtype: DType,
    elements: Range<usize>,
    /// Offset of the slice's first byte in the file.
    at: u64,
}

/// Returns the slices in a rank's file, from its header.
fn slices(header: &[u8], place: (usize, usize)) -> Result<Vec<Slice>, FormatError> {
    let json = header.get(LENGTH..).unwrap_or_default();
    let metadata: Metadata = serde_json::from_slice(json).map_err(FormatError::index)?;
    let index = format::index(&metadata)?;
    let none = || index_error("it is no rank's file of a checkpoint".into());
    let Slices { rank, ranks, starts } = format::decoded(index.get(SLICES).ok_or_else(none)?)?;
    let told = |(rank, ranks)| format!("the place {rank} of {ranks}");
    same(&told((rank, ranks)), &told(place))?;
    let slice = |(name, start): (String, usize)| {
        let info = metadata.info(&name);
        let info = info.ok_or_else(|| index_error(format!("there is no tensor `{name}`")))?;
        let strange = || index_error(format!("its tensor `{name}` is no slice"));
        let dtype = dtype::read(info.dtype).ok_or_else(strange)?;
        let [len] = info.shape[..] else { return Err(strange()) };
        let end = start.checked_add(len).ok_or_else(strange)?;
        let at = header.len() as u64 + info.data_offsets.0 as u64;
        Ok(Slice { dtype, elements: start..end, at, name })
    };
    starts.into_iter().map(slice).collect()
}

/// Tensor that is being read.
struct Target {
    spec: TensorSpec,
    /// Elements that are needed.
    needed: Range<usize>,
    is_slice: bool,
    bytes: Vec<u8>,
    /// Elements that files have.
    found: Vec<Range<usize>>,
}

/// Returns a target for each tensor of a checkpoint.
fn targets(
    manifest: &Manifest,
    reader: &Reader<'_>,
) -> Result<BTreeMap<String, Target>, FormatError> {
    let shares = manifest.index.shares()?;
    let room: u64 = manifest.files.iter().map(|file| file.bytes).sum();
    let target = |(name, spec): (&str, TensorSpec)| {
        let fits = |bytes: &usize| *bytes as u64 <= room;
        let too_large = || index_error(format!("`{name}` {spec} is more than its files have"));
        spec.bytes().filter(fits).ok_or_else(too_large)?;
        let elements = spec.elements().unwrap_or_default();
        let share = shares.get(name).copied().unwrap_or(Share::First);
        let own = reader.own.filter(|_| matches!(share, Share::Each(..)));
        let needed = own.map_or(0..elements, |own| share.of(elements, own));
        let (bytes, found) = (vec![0; needed.len() * spec.dtype.bytes()], Vec::new());
        let is_slice = own.is_some();
        Ok((name.to_owned(), Target { spec, needed, is_slice, bytes, found }))
    };
    manifest.specs().map(target).collect()
}

impl Target {
    /// Adds a slice to the found ones, after checking that it is of this tensor.
    fn add(&mut self, slice: &Slice) -> Result<(), FormatError> {
        let Slice { name, dtype, elements, .. } = slice;
        let all = self.spec.elements().unwrap_or_default();
        if *dtype != self.spec.dtype || elements.end > all {
            let spec = &self.spec;
            let why = format!("elements {elements:?} of type {dtype} of `{name}`, which is {spec}");
            return Err(index_error(why));
        }
        self.found.push(elements.clone());
        Ok(())
    }

    /// Reads the needed elements of a slice.
    fn fill(&mut self, slice: &Slice, file: &mut File) -> io::Result<()> {
        let start = slice.elements.start.max(self.needed.start);
        let end = slice.elements.end.min(self.needed.end);
        if start >= end {
            return Ok(());
        }
        let width = self.spec.dtype.bytes();
        file.seek(SeekFrom::Start(slice.at + ((start - slice.elements.start) * width) as u64))?;
        let from = (start - self.needed.start) * width;
        file.read_exact(&mut self.bytes[from..from + (end - start) * width])
    }

    /// Returns the tensor, after checking that the files' slices cover it.
    fn tensor(mut self, name: &str) -> Result<RawTensor, FormatError> {
        self.found.sort_by_key(|slice| (slice.start, slice.end));
        let follows = |end, slice: &Range<usize>| (slice.start == end).then_some(slice.end);
        let end = self.found.iter().try_fold(0, follows);
        let raw = match end.filter(|end| self.spec.elements() == Some(*end)) {
            None => None,
            Some(_) if self.is_slice => RawTensor::of_slice(self.spec, self.needed, self.bytes),
            Some(_) => RawTensor::new(self.spec, self.bytes),
        };
        let found = self.found;
        raw.ok_or_else(|| index_error(format!("the slices {found:?} of `{name}` make no whole")))
    }
}
