//! Reader of the golden file.

use flate2::read::GzDecoder;
use serde_json::Value;

/// Returns torch 2.15's registries.
pub(crate) fn golden() -> Value {
    let packed = include_bytes!("../data/torch_autocast.json.gz");
    serde_json::from_reader(GzDecoder::new(&packed[..])).expect("the golden file is well formed")
}
