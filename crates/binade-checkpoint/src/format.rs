//! Checkpoints as bytes of a safetensors file, with a checksum over all of them.
//!
//! The file's metadata has one key, `binade`, whose value is `checkpoint 1 crc32 XXXXXXXX ` and an index in JSON. The checksum is
//! CRC-32 (IEEE) over the whole file with eight zeros in its own place: safetensors has none, and a file whose header is whole
//! may be torn or rotten behind it. CRC-32 finds every change within 32 bits in a row, and misses another with a chance of 2^-32.
//! It does not protect against forgery.

use crate::index::{Index, Tensors, tensors};
use crate::{Checkpoint, FormatError, bits, dtype};
use binade_core::{RawTensor, TensorSpec};
use safetensors::{Dtype, SafeTensors, View};
use serde_json::Value;
use std::borrow::Cow;

/// Number of bytes that tell the header's length.
const LENGTH: usize = 8;
/// Start of every header, up to the format's number.
const MAGIC: &str = "{\"__metadata__\":{\"binade\":\"checkpoint ";
/// Number of this format, and the text behind it.
const VERSION: &str = "1 crc32 ";
/// Text in place of the checksum while it is computed.
const ZEROS: &str = "00000000";
/// Byte offset of the checksum.
const AT: usize = LENGTH + MAGIC.len() + VERSION.len();
/// Byte offset of the index in the value, behind the checksum and a space.
const INDEX: usize = "checkpoint ".len() + VERSION.len() + ZEROS.len() + 1;

/// Tensor to be written.
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

/// Returns the file's bytes.
pub(crate) fn write(checkpoint: &Checkpoint) -> Result<Vec<u8>, FormatError> {
    let too_large = |error: &dyn std::fmt::Display| FormatError::TooLarge(error.to_string());
    let index = serde_json::to_value(Index::of(checkpoint)).map_err(|error| too_large(&error))?;
    // JSON has no infinity and no NaN, and their replacement cannot be read: no file is better than such a one.
    index_of(&index).map_err(|error| FormatError::Number(error.to_string()))?;
    let value = format!("checkpoint {VERSION}{ZEROS} {}", bits::written(index));
    let view = |(name, spec, bytes): (String, TensorSpec, _)| {
        let dtype = dtype::written(spec.dtype).ok_or_else(|| FormatError::Type {
            name: name.clone(),
            dtype: spec.dtype.to_string(),
        })?;
        Ok((name, Written { dtype, spec, bytes }))
    };
    let views =
        tensors(checkpoint).into_iter().map(view).collect::<Result<Vec<_>, FormatError>>()?;
    // There is one key alone, so that the order of a hash map does not show.
    let metadata = [("binade".to_owned(), value)].into_iter().collect();
    let mut bytes =
        safetensors::serialize(views, Some(metadata)).map_err(|error| too_large(&error))?;
    let sum = format!("{:08x}", checksum(&bytes));
    bytes.splice(AT..AT + sum.len(), sum.bytes());
    Ok(bytes)
}

/// Reads the checkpoint in a file's bytes.
pub(crate) fn read(bytes: &[u8]) -> Result<Checkpoint, FormatError> {
    verify(bytes)?;
    let broken = |error: safetensors::SafeTensorError| FormatError::Index(error.to_string());
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(broken)?;
    let index = metadata.metadata().as_ref().and_then(|all| all.get("binade")?.get(INDEX..));
    read_index(index.unwrap_or_default())?
        .with(all(&SafeTensors::deserialize(bytes).map_err(broken)?)?)
}

/// Reads an index whose numbers are finite: an infinite one here would be believed, and nothing writes one.
fn read_index(text: &str) -> Result<Index, FormatError> {
    let said = |error: &dyn std::fmt::Display| FormatError::Index(error.to_string());
    let none = |bits::NotFinite { field, value }| FormatError::NotFinite { field, value };
    let value = serde_json::from_str(text).map_err(|error| said(&error))?;
    let value = bits::read(value).map_err(none)?;
    let index = index_of(&value).map_err(|error| said(&error))?;
    let held = serde_json::to_value(&index).map_err(|error| said(&error))?;
    bits::lost(&value, &held).map_or(Ok(index), |lost| Err(none(lost)))
}

/// Returns the index of this value; an error names the field.
fn index_of(value: &Value) -> Result<Index, serde_path_to_error::Error<serde_json::Error>> {
    serde_path_to_error::deserialize(value)
}

/// Checks that these are the bytes that were written, without reading their contents.
pub(crate) fn verify(bytes: &[u8]) -> Result<(), FormatError> {
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
    let found = checksum(bytes);
    if format!("{found:08x}").as_bytes() == written {
        return Ok(());
    }
    Err(FormatError::Checksum { found, expected: text(written) })
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

fn all(file: &SafeTensors<'_>) -> Result<Tensors, FormatError> {
    let raw = |(name, view): (&str, safetensors::tensor::TensorView<'_>)| {
        let unknown =
            || FormatError::Type { name: name.to_owned(), dtype: format!("{:?}", view.dtype()) };
        let dtype = dtype::read(view.dtype()).ok_or_else(unknown)?;
        let spec = TensorSpec::new(dtype, view.shape());
        let raw = RawTensor::new(spec, view.data().to_vec()).ok_or_else(unknown)?;
        Ok((name.to_owned(), raw))
    };
    file.iter().map(raw).collect()
}
