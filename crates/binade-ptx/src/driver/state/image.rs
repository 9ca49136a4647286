//! Header of a module's image, read before the parser: the PTX version and the target.

use crate::driver::code::{Code, Result};

/// Newest PTX ISA that the interpreter's tables were written from: CUDA 13.0.
const NEWEST: (u32, u32) = (9, 0);

/// Returns an image as text. Its PTX version and target must not be newer than the interpreter and the device.
pub(crate) fn text(image: &[u8], device: u32) -> Result<&str> {
    let text = std::str::from_utf8(image).map_err(|_| not_text())?;
    let version = after(text, ".version").ok_or_else(not_text)?;
    if numbers(version).is_some_and(|version| version > NEWEST) {
        super::tell(format_args!("PTX {version} is newer than {}.{}", NEWEST.0, NEWEST.1));
        return Err(Code::UnsupportedPtxVersion);
    }
    let target = after(text, ".target").unwrap_or_default();
    let number = target.trim_start_matches("sm_").trim_end_matches(|c: char| !c.is_ascii_digit());
    if number.parse::<u32>().is_ok_and(|target| target > device) {
        super::tell(format_args!("the module is for {target}, the device is sm_{device}"));
        return Err(Code::NoBinaryForGpu);
    }
    Ok(text)
}

fn not_text() -> Code {
    super::tell("the image is not PTX text, which is all that can be interpreted");
    Code::InvalidImage
}

/// Returns the word behind the first line that begins with `directive`.
fn after<'a>(text: &'a str, directive: &str) -> Option<&'a str> {
    let words = text.lines().find_map(|line| line.trim_start().strip_prefix(directive))?;
    words.split([' ', '\t', ',', ';']).find(|word| !word.is_empty())
}

fn numbers(version: &str) -> Option<(u32, u32)> {
    let (major, minor) = version.trim().split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
