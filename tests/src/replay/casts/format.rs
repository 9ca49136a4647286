//! The format of tables of casts.

use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
pub(in crate::replay) struct Tables {
    /// Values by code, by format.
    pub(super) decode: BTreeMap<String, Values>,
    pub(super) boundary: Boundary,
    /// Two results compared where only one was kept, under names as `boundary_torch_ml_e4m3fn`.
    #[serde(default)]
    pub(super) agree: BTreeMap<String, Compared>,
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
