//! Reading the golden file.

pub(crate) mod outcome;

use flate2::read::GzDecoder;
use serde_json::Value;

/// torch 2.15's registries, and the result types of 172 operations on mixes of operand types.
pub(crate) fn golden() -> Value {
    let packed = include_bytes!("../data/torch_autocast.json.gz");
    serde_json::from_reader(GzDecoder::new(&packed[..])).expect("the golden file is well formed")
}
