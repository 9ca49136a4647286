//! Recordings of other libraries, whole or damaged: replayed to an answer, whatever it is.

use crate::replay::{parse, replay};

pub(super) fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(recording) = parse(text) {
        let _ = replay(&recording);
    }
}
