//! Packed texts of kernels.

use lzma_rust2::LzmaReader;
use std::{collections::HashMap, io::Read};

/// Returns the texts that `cargo xtask` has packed into one file, by their names. There is none where the file is not what it
/// packed; a backend's test reads every one.
///
/// They stay for as long as the process: a backend unpacks its own once.
pub fn unpack_kernels(packed: &'static [u8]) -> HashMap<&'static str, &'static str> {
    let mut all = String::new();
    let reader = LzmaReader::new_mem_limit(packed, u32::MAX, None);
    if reader.and_then(|mut reader| reader.read_to_string(&mut all)).is_err() {
        all.clear();
    }
    all.leak().split("//// ").filter_map(|text| text.split_once('\n')).collect()
}
