//! Reader of IDX, the format of MNIST's files: a magic number, sizes as big-endian u32, then one byte an element.
//!
//! Source: "The MNIST database of handwritten digits", yann.lecun.com/exdb/mnist, the section on file formats. The magic number's
//! third byte is the element type, 8 for unsigned bytes; its fourth is the number of sizes.

use std::io::Read;

/// Elements in `N` sizes, the outermost first.
#[derive(Debug, PartialEq)]
pub(crate) struct Idx<const N: usize> {
    pub(crate) sizes: [usize; N],
    pub(crate) bytes: Vec<u8>,
}

/// Reads a whole file. It takes no more memory than the file fills, whatever the header promises.
///
/// # Errors
///
/// The file's fault: the rest of a sentence that begins with its name.
pub(crate) fn read<const N: usize>(mut file: impl Read) -> Result<Idx<N>, String> {
    let sizes = header::<N>(&mut file)?;
    let elements: u128 = sizes.iter().map(|&size| u128::from(size)).product();
    // One more byte is read, to see that there is none.
    let bytes = up_to(elements + 1, &mut file)?;
    let (start, found) = (length::<N>() as u128, bytes.len() as u128);
    if found < elements {
        return Err(torn(start + found, start + elements));
    }
    if found > elements {
        let wanted = start + elements;
        return Err(format!(
            "goes on after the {wanted} bytes that its header tells of; fetch it again"
        ));
    }
    Ok(Idx { sizes: sizes.map(|size| size as usize), bytes })
}

fn torn(found: u128, wanted: u128) -> String {
    format!("is torn: it ends after {found} of {wanted} bytes; fetch it again")
}

/// Returns the bytes of a header.
const fn length<const N: usize>() -> usize {
    4 + 4 * N
}

fn header<const N: usize>(file: &mut impl Read) -> Result<[u32; N], String> {
    let bytes = up_to(length::<N>() as u128, file)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Err("is gzipped; add .gz to its name, or unpack it".into());
    }
    let words: Vec<u32> =
        bytes.as_chunks().0.iter().map(|&word| u32::from_be_bytes(word)).collect();
    let wanted = 0x0800 | N;
    match words.split_first() {
        Some((&found, _)) if found as usize != wanted => Err(format!(
            "starts with {found:#010x}, and a file of this name with {wanted:#010x}; was it renamed? fetch it again"
        )),
        Some((_, sizes)) if sizes.len() == N => Ok(std::array::from_fn(|size| sizes[size])),
        _ => Err(torn(bytes.len() as u128, length::<N>() as u128)),
    }
}

fn up_to(count: u128, file: &mut impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    match file.take(u64::try_from(count).unwrap_or(u64::MAX)).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(unread(&error)),
    }
}

/// Returns the fault of the device, of access rights, or of decompression.
pub(super) fn unread(error: &std::io::Error) -> String {
    format!("cannot be read: {error}; check that it is a file you may read, or fetch it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_big_endian_and_bytes_follow() {
        let file = [0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9];
        assert_eq!(read::<1>(&file[..]), Ok(Idx { sizes: [3], bytes: vec![7, 8, 9] }));
    }

    #[test]
    fn a_header_that_promises_the_world_takes_no_memory() {
        let file = [&[0, 0, 8, 3][..], &[0xff; 12], &[1, 2]].concat();
        let wanted = 16 + u128::from(u32::MAX).pow(3);
        assert_eq!(read::<3>(&file[..]), Err(torn(18, wanted)));
    }
}
