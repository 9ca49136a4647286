//! The format of tables of casts.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
pub(in crate::replay) struct Tables {
    /// Values by code, by format.
    pub(super) decode: BTreeMap<String, Values>,
    pub(super) boundary: Boundary,
    /// Two results compared where only one was kept, under names as `boundary_torch_ml_e4m3fn`.
    #[serde(default)]
    pub(super) agree: BTreeMap<String, Compared>,
    /// Of patterns that are not in the file.
    pub(super) random: Option<Value>,
    /// Casts that are none of ours.
    #[serde(default)]
    pub(super) other: BTreeMap<String, Other>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Other {
    /// Codes of one number by library, under a name as `f64_halfway_plus_tiny_f16`.
    FromF64(FromF64),
    /// Casts between two narrow types, and the same by f32, compared.
    Narrow(Compared),
    /// True if they have the same bits, those of NaN included.
    Same(#[expect(dead_code, reason = "tells this apart from the others")] bool),
}

#[derive(Debug, Deserialize)]
pub(super) struct FromF64 {
    /// In decimal.
    pub(super) f64: String,
    pub(super) numpy_ml: u32,
    pub(super) torch_scalar: u32,
    pub(super) torch_vec: u32,
}

#[derive(Debug, Deserialize)]
pub(super) struct Values {
    pub(super) f32_bits: Vec<u32>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Boundary {
    /// Bits of the values that were cast.
    pub(super) f32_bits: Vec<u32>,
    /// Codes by library, by format.
    #[serde(flatten)]
    pub(super) results: BTreeMap<String, BTreeMap<String, Vec<u32>>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Compared {
    pub(super) n: usize,
    /// Where they differ, unless both are NaN.
    pub(super) differ_not_nan: usize,
    #[serde(default)]
    pub(super) examples: Vec<Example>,
    #[serde(default)]
    pub(super) nan_examples: Vec<Example>,
}

/// `a` is torch's code, `b` the other's; tables of decoding name theirs otherwise.
#[derive(Debug, Deserialize)]
pub(super) struct Example {
    pub(super) r#in: u32,
    pub(super) a: Option<u32>,
    pub(super) b: Option<u32>,
}
