//! Files to JSON.

use super::ReplayError;
use flate2::read::GzDecoder;
use serde_json::Value;
use std::io::Read;
use std::{fs, path::Path};

/// Reads a recording, gzipped or plain: told by its first bytes, not by its name.
///
/// # Errors
///
/// Where it cannot be read, unpacked or parsed.
pub fn file(path: &Path) -> Result<Value, ReplayError> {
    parse(&unpack(&fs::read(path)?)?)
}

/// Parses a recording as Python writes it: JSON, but for bare `NaN` and `Infinity`, which become null.
///
/// # Errors
///
/// Where it is not JSON even so.
pub fn parse(text: &str) -> Result<Value, ReplayError> {
    Ok(serde_json::from_str(text).or_else(|_| serde_json::from_str(&without_nan(text)))?)
}

fn unpack(mut bytes: &[u8]) -> Result<String, ReplayError> {
    let mut text = String::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        GzDecoder::new(bytes).read_to_string(&mut text)?;
    } else {
        bytes.read_to_string(&mut text)?;
    }
    Ok(text)
}

/// Strings take every other place between quotes, as no recording has a quote within one.
fn without_nan(text: &str) -> String {
    let bare = |piece: &str| {
        piece.replace("-Infinity", "null").replace("Infinity", "null").replace("NaN", "null")
    };
    let pieces = text.split('"').enumerate();
    let pieces = pieces.map(|(i, piece)| if i % 2 == 0 { bare(piece) } else { piece.to_owned() });
    pieces.collect::<Vec<_>>().join("\"")
}
