//! The format of a recording of autocast.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug, Deserialize)]
pub(in crate::replay) struct Recorded {
    pub(super) registry: Registries,
    /// By device and region, as `cpu_bf16`, or `cpu_off` outside of any.
    pub(super) behaviour: BTreeMap<String, Operations>,
    /// By device: what torch's own tests expect.
    #[serde(default)]
    pub(super) test_lists: BTreeMap<String, TestLists>,
}

/// By list: names, each with a type or none.
pub(super) type TestLists = BTreeMap<String, Vec<(String, Option<String>)>>;

/// Registered operations by name, by device.
#[derive(Debug, Deserialize)]
pub(super) struct Registries {
    #[serde(rename = "AutocastCPU")]
    pub(super) cpu: Option<BTreeMap<String, Registered>>,
    #[serde(rename = "AutocastCUDA")]
    pub(super) cuda: Option<BTreeMap<String, Registered>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Registered {
    pub(super) category: String,
}

pub(super) type Operations = BTreeMap<String, Rows>;
/// By the operands' types, as `bf16,f32`.
pub(super) type Rows = BTreeMap<String, Outcome>;

/// The type of a result, or of each of several; or `err:`, Python's class and the beginning of its message.
#[derive(Debug, Deserialize, Eq, PartialEq)]
#[serde(untagged)]
pub(super) enum Outcome {
    One(String),
    Several(Vec<String>),
}

impl Outcome {
    /// Returns the error that was raised, if any was.
    pub(super) fn error(&self) -> Option<&str> {
        match self {
            Self::One(text) => text.strip_prefix("err:"),
            Self::Several(_) => None,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(text) => f.write_str(text),
            Self::Several(types) => f.write_str(&types.join(" and ")),
        }
    }
}
