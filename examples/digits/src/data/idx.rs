//! Reader of IDX, the format of MNIST's files: a magic number, sizes as big-endian u32, then one byte an element.
//!
//! Source: "The MNIST database of handwritten digits", yann.lecun.com/exdb/mnist, the section on file formats. The magic number's
//! third byte is the element type, 8 for unsigned bytes; its fourth is the number of sizes.

use std::io::{self, Read};

/// Elements in `N` sizes, the outermost first.
#[derive(Debug, PartialEq)]
pub(crate) struct Idx<const N: usize> {
    pub(crate) sizes: [usize; N],
    pub(crate) bytes: Vec<u8>,
}

/// Fault of one file: the rest of a sentence that begins with its name.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Error of the device, of access rights, or of decompression.
    #[error("cannot be read: {0}; check that it is a file you may read, or fetch it again")]
    Read(#[from] io::Error),
    /// Compressed file under a plain name.
    #[error("is gzipped; add .gz to its name, or unpack it")]
    Packed,
    /// File of another format, or the other of the two kinds of file.
    #[error(
        "starts with {found:#010x}, and a file of this name with {wanted:#010x}; was it renamed? fetch it again"
    )]
    Magic {
        /// Number that the file starts with.
        found: u32,
        /// Number that it should start with.
        wanted: u32,
    },
    /// File that ends early.
    #[error("is torn: it ends after {found} of {wanted} bytes; fetch it again")]
    Torn {
        /// Number of bytes, uncompressed.
        found: u128,
        /// Number of bytes that the header promises, itself counted.
        wanted: u128,
    },
    /// File with bytes left over at the end.
    #[error("goes on after the {wanted} bytes that its header tells of; fetch it again")]
    Longer {
        /// Number of bytes that the header promises, itself counted.
        wanted: u128,
    },
}

/// Reads a whole file. It takes no more memory than the file fills, whatever the header promises.
pub(crate) fn read<const N: usize>(mut file: impl Read) -> Result<Idx<N>, Fault> {
    let sizes = header::<N>(&mut file)?;
    let elements: u128 = sizes.iter().map(|&size| u128::from(size)).product();
    // One more byte is read, to see that there is none.
    let bytes = up_to(elements + 1, &mut file)?;
    let (start, found) = (length::<N>() as u128, bytes.len() as u128);
    if found < elements {
        return Err(Fault::Torn { found: start + found, wanted: start + elements });
    }
    if found > elements {
        return Err(Fault::Longer { wanted: start + elements });
    }
    Ok(Idx { sizes: sizes.map(|size| size as usize), bytes })
}

/// Returns the bytes of a header.
const fn length<const N: usize>() -> usize {
    4 + 4 * N
}

fn header<const N: usize>(file: &mut impl Read) -> Result<[u32; N], Fault> {
    let bytes = up_to(length::<N>() as u128, file)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Err(Fault::Packed);
    }
    let words: Vec<u32> =
        bytes.as_chunks().0.iter().map(|&word| u32::from_be_bytes(word)).collect();
    #[expect(clippy::cast_possible_truncation, reason = "one or three sizes")]
    let wanted = 0x0800 | N as u32;
    match words.split_first() {
        Some((&found, _)) if found != wanted => Err(Fault::Magic { found, wanted }),
        Some((_, sizes)) if sizes.len() == N => Ok(std::array::from_fn(|size| sizes[size])),
        _ => Err(Fault::Torn { found: bytes.len() as u128, wanted: length::<N>() as u128 }),
    }
}

fn up_to(count: u128, file: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(u64::try_from(count).unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(bytes: &[u8]) -> String {
        read::<3>(bytes).unwrap_err().to_string()
    }

    #[test]
    fn sizes_are_big_endian_and_bytes_follow() {
        let file = [0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9];
        assert_eq!(read::<1>(&file[..]).unwrap(), Idx { sizes: [3], bytes: vec![7, 8, 9] });
    }

    #[test]
    fn a_header_that_promises_the_world_takes_no_memory() {
        let file = [&[0, 0, 8, 3][..], &[0xff; 12], &[1, 2]].concat();
        let wanted = 16 + u128::from(u32::MAX).pow(3);
        let text = format!("is torn: it ends after 18 of {wanted} bytes; fetch it again");
        assert_eq!(told(&file), text);
    }

    #[test]
    fn a_file_torn_anywhere_is_told_from_a_whole_one() {
        let file = [0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4];
        assert_eq!(read::<3>(&file[..]).unwrap().sizes, [1, 2, 2]);
        for end in 0..file.len() {
            let wanted = if end < 16 { 16 } else { 20 };
            let text = format!("is torn: it ends after {end} of {wanted} bytes; fetch it again");
            assert_eq!(told(&file[..end]), text);
        }
    }
}
