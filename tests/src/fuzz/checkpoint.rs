//! Files that say they are checkpoints: read, or refused with the reason; what is read is what is written again.

use binade_checkpoint::{Checkpoint, FormatError};

pub(super) fn read(bytes: &[u8]) {
    // Nearly every change breaks the checksum, and then nothing behind it is looked at: it is mended here.
    let mended = match Checkpoint::from_bytes(bytes) {
        Err(FormatError::Checksum { found, .. }) => mended(bytes, found),
        _ => bytes.to_vec(),
    };
    match Checkpoint::from_bytes(&mended) {
        Ok(checkpoint) => {
            let written = checkpoint.to_bytes().expect("what was read can be written");
            let again = Checkpoint::from_bytes(&written).expect("what was written can be read");
            assert_eq!(again.to_bytes().expect("as before"), written);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// The file with the checksum that it should have.
fn mended(bytes: &[u8], sum: u32) -> Vec<u8> {
    const BEFORE: &[u8] = b"crc32 ";
    let mut mended = bytes.to_vec();
    let at = bytes.windows(BEFORE.len()).position(|window| window == BEFORE);
    let place = at.and_then(|at| mended.get_mut(at + BEFORE.len()..at + BEFORE.len() + 8));
    if let Some(place) = place {
        place.copy_from_slice(format!("{sum:08x}").as_bytes());
    }
    mended
}
