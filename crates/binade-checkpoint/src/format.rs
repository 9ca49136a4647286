//! Checkpoints as bytes of a safetensors file, with a checksum over all of them.
//!
//! The file's metadata has one key, `binade`, whose value is `checkpoint 2 crc32 89abcdef ` and an index in JSON. The checksum is CRC-32 (IEEE) over
//! the whole file with eight zeros in its own place. safetensors has no checksum, and a file with a whole header may be truncated or corrupt after
//! it. CRC-32 detects every change within 32 consecutive bits, and misses any other with a probability of 2^-32. It does not protect against forgery.
//!
//! The index of a whole checkpoint is an `Index`. An index of a checkpoint by rank has one key: `manifest`, or `slices` in a rank's file.

use crate::index::{Index, Stored, Tensors, tensors};
use crate::manifest::Manifest;
use crate::{Checkpoint, FormatError, dtype};
use binade_core::{RawTensor, TensorSpec};
use safetensors::{Dtype, SafeTensors, View, tensor::Metadata};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};

/// Number of bytes of the header's length.
pub(crate) const LENGTH: usize = 8;
/// Start of every header, up to the format's number.
const MAGIC: &str = "{\"__metadata__\":{\"binade\":\"checkpoint ";
/// Number of this format, and the text after it.
const VERSION: &str = "2 crc32 ";
/// Text in place of the checksum while it is computed.
const ZEROS: &str = "00000000";
/// Byte offset of the checksum.
const AT: usize = LENGTH + MAGIC.len() + VERSION.len();
/// Byte offset of the index in the value, after the checksum and a space.
const INDEX: usize = "checkpoint ".len() + VERSION.len() + ZEROS.len() + 1;

/// Key of the index of a manifest.
pub(crate) const MANIFEST: &str = "manifest";
/// Key of the index of a rank's file.
pub(crate) const SLICES: &str = "slices";

/// Tensor that is to be written.
struct Written<'a> {
    dtype: Dtype,
    spec: TensorSpec,
    bytes: &'a [u8],
}

impl View for Written<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.spec.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

/// Returns the bytes of a whole checkpoint's file.
pub(crate) fn write(checkpoint: &Checkpoint) -> Result<Vec<u8>, FormatError> {
    let all = tensors(checkpoint);
    if let Some(slice) = all.iter().find(|stored| stored.slice.is_some()) {
        return Err(FormatError::Slice(slice.name.clone()));
    }
    let whole = all.into_iter().map(|Stored { name, spec, bytes, .. }| (name, spec, bytes));
    sealed(&checked(&Index::of(checkpoint))?, whole)
}

/// Returns the bytes of a file with this index and these tensors, by name.
pub(crate) fn sealed<'a>(
    index: &Value,
    tensors: impl Iterator<Item = (String, TensorSpec, &'a [u8])>,
) -> Result<Vec<u8>, FormatError> {
    let value = format!("checkpoint {VERSION}{ZEROS} {index}");
    let view = |(name, spec, bytes): (String, TensorSpec, _)| {
        let dtype = dtype::written(spec.dtype).ok_or_else(|| strange(&name, &spec.dtype))?;
        Ok((name, Written { dtype, spec, bytes }))
    };
    let views = tensors.map(view).collect::<Result<Vec<_>, FormatError>>()?;
    // There is only one key, so the order of the hash map has no effect.
    let metadata = [("binade".to_owned(), value)].into_iter().collect();
    let mut bytes = safetensors::serialize(views, Some(metadata))
        .map_err(|error| FormatError::TooLarge(error.to_string()))?;
    let sum = format!("{:08x}", checksum(&bytes));
    bytes.splice(AT..AT + sum.len(), sum.bytes());
    Ok(bytes)
}

/// Contents of a file.
pub(crate) enum Contents {
    Whole(Checkpoint),
    Manifest(Manifest),
}

/// Reads a file's bytes.
pub(crate) fn read(bytes: &[u8]) -> Result<Contents, FormatError> {
    verify(bytes)?;
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(FormatError::index)?;
    let index = index(&metadata)?;
    if let Some(manifest) = index.get(MANIFEST) {
        return decoded(manifest).map(Contents::Manifest);
    }
    if index.get(SLICES).is_some() {
        return Err(FormatError::RankFile);
    }
    let index: Index = decoded(&index)?;
    let whole = index.with(all(&SafeTensors::deserialize(bytes).map_err(FormatError::index)?)?);
    whole.map(Contents::Whole)
}

/// Returns the index in a file's metadata.
pub(crate) fn index(metadata: &Metadata) -> Result<Value, FormatError> {
    let index = metadata.metadata().as_ref().and_then(|all| all.get("binade")?.get(INDEX..));
    serde_json::from_str(index.unwrap_or_default()).map_err(FormatError::index)
}

/// Decodes a value from a file; an error names the field.
pub(crate) fn decoded<T: Serialize + DeserializeOwned>(value: &Value) -> Result<T, FormatError> {
    let decoded = serde_path_to_error::deserialize(value).map_err(FormatError::index)?;
    // A number beyond f32 becomes infinite in a field of that type, but a file has no infinities.
    checked(&decoded)?;
    Ok(decoded)
}

/// Returns an index as JSON. JSON has no infinity and no NaN: an error names the field of such a number.
pub(crate) fn checked<T: Serialize + DeserializeOwned>(index: &T) -> Result<Value, FormatError> {
    let value = serde_json::to_value(index).map_err(FormatError::index)?;
    let read: Result<T, _> = serde_path_to_error::deserialize(&value);
    read.map(|_| value).map_err(|error| FormatError::Number(error.to_string()))
}

/// Returns the error of a tensor whose type Binade or safetensors does not have.
fn strange(name: &str, dtype: &dyn std::fmt::Debug) -> FormatError {
    FormatError::Index(format!("its tensor `{name}` is of type {dtype:?}, which no checkpoint has"))
}

/// Verifies the checksum of a file's bytes without reading the contents.
pub(crate) fn verify(bytes: &[u8]) -> Result<(), FormatError> {
    let expected = stated(bytes)?;
    let found = checksum(bytes);
    if format!("{found:08x}") == expected {
        return Ok(());
    }
    Err(FormatError::Checksum { found, expected })
}

/// Returns the checksum that a file states, given its header or all of it.
pub(crate) fn stated(bytes: &[u8]) -> Result<String, FormatError> {
    let header = bytes.get(LENGTH..).ok_or(FormatError::Short(bytes.len()))?;
    let known = MAGIC.len().min(header.len());
    if header[..known] != MAGIC.as_bytes()[..known] {
        return Err(match SafeTensors::read_metadata(bytes) {
            Ok(_) => FormatError::Foreign,
            Err(error) => FormatError::NotSafetensors(error.to_string()),
        });
    }
    let written = bytes.get(AT..AT + ZEROS.len()).ok_or(FormatError::Short(bytes.len()))?;
    let version = &header[MAGIC.len()..MAGIC.len() + VERSION.len()];
    if version != VERSION.as_bytes() {
        return Err(FormatError::Version(text(version)));
    }
    Ok(text(written))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// Returns the checksum over all bytes, with zeros for the checksum itself.
fn checksum(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(bytes.get(..AT).unwrap_or_default());
    hasher.update(ZEROS.as_bytes());
    hasher.update(bytes.get(AT + ZEROS.len()..).unwrap_or_default());
    hasher.finalize()
}

/// Returns the checksum of a file, which it reads piece by piece.
pub(crate) fn checksum_of(mut file: impl Read) -> io::Result<u32> {
    let mut first = Vec::new();
    file.by_ref().take((AT + ZEROS.len()) as u64).read_to_end(&mut first)?;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(first.get(..AT).unwrap_or(&first));
    hasher.update(ZEROS.as_bytes());
    // Zeros come from the allocator. `resize` fills them in a loop, in which tests of files spent most of their time.
    let mut piece = vec![0; 1 << 20];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hasher.finalize()),
            read => hasher.update(&piece[..read]),
        }
    }
}

/// Returns all tensors of a safetensors file of any program, by name. `safetensors.torch.save_file(model.state_dict(), path)` writes such a file of a
/// torch model's weights.
///
/// # Errors
///
/// Returns an error if the bytes are not a safetensors file, or if Binade does not have the type of some tensor, needed or not.
pub fn read_safetensors(bytes: &[u8]) -> Result<BTreeMap<String, RawTensor>, FormatError> {
    let file = SafeTensors::deserialize(bytes);
    all(&file.map_err(|error| FormatError::NotSafetensors(error.to_string()))?)
}

fn all(file: &SafeTensors<'_>) -> Result<Tensors, FormatError> {
    let raw = |(name, view): (&str, safetensors::tensor::TensorView<'_>)| {
        let raw = dtype::raw(&view).ok_or_else(|| strange(name, &view.dtype()))?;
        Ok((name.to_owned(), raw))
    };
    file.iter().map(raw).collect()
}
