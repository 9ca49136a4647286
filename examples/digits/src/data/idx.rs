//! Reader of IDX, the format of MNIST's files: a magic number, sizes as big-endian u32, then one byte an element.
//!
//! Source: "The MNIST database of handwritten digits", yann.lecun.com/exdb/mnist, the section on file formats. The magic number's
//! third byte is the element type, 8 for unsigned bytes; its fourth is the number of sizes.

use std::cmp::Ordering;
use std::io::Read;

/// Elements in `N` sizes, the outermost first.
#[derive(Debug, PartialEq)]
pub(crate) struct Idx<const N: usize> {
    pub(crate) sizes: [usize; N],
    pub(crate) bytes: Vec<u8>,
}

/// Reads a whole file.
///
/// # Errors
///
/// The file's fault: the rest of a sentence that begins with its name.
pub(crate) fn read<const N: usize>(mut file: impl Read) -> Result<Idx<N>, String> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| unread(&error))?;
    let sizes = header::<N>(&bytes)?;
    let elements: u128 = sizes.iter().map(|&size| u128::from(size)).product();
    let (start, found) = (length::<N>(), bytes.len() as u128);
    let wanted = start as u128 + elements;
    match found.cmp(&wanted) {
        Ordering::Less => Err(torn(found, wanted)),
        Ordering::Greater => Err(format!(
            "goes on after the {wanted} bytes that its header tells of; fetch it again"
        )),
        Ordering::Equal => {
            Ok(Idx { sizes: sizes.map(|size| size as usize), bytes: bytes.split_off(start) })
        }
    }
}

fn torn(found: u128, wanted: u128) -> String {
    format!("is torn: it ends after {found} of {wanted} bytes; fetch it again")
}

/// Returns the bytes of a header.
const fn length<const N: usize>() -> usize {
    4 + 4 * N
}

fn header<const N: usize>(bytes: &[u8]) -> Result<[u32; N], String> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Err("is gzipped; add .gz to its name, or unpack it".into());
    }
    let words = bytes.as_chunks().0.iter().map(|&word| u32::from_be_bytes(word));
    let words: Vec<u32> = words.take(1 + N).collect();
    let wanted = 0x0800 | N;
    match words.split_first() {
        Some((&found, _)) if found as usize != wanted => Err(format!(
            "starts with {found:#010x}, and a file of this name with {wanted:#010x}; was it renamed? fetch it again"
        )),
        Some((_, sizes)) if sizes.len() == N => Ok(std::array::from_fn(|size| sizes[size])),
        _ => Err(torn(bytes.len() as u128, length::<N>() as u128)),
    }
}

/// Returns the fault of the device, of access rights, or of decompression.
pub(super) fn unread(error: &std::io::Error) -> String {
    format!("cannot be read: {error}; check that it is a file you may read, or fetch it again")
}
