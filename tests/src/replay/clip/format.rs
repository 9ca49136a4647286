//! The format of a table of clips.

use crate::replay::bits::Num;
use crate::replay::trace::{Grads, Raised};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(in crate::replay) struct Table {
    pub(super) cases: Vec<Case>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Case {
    pub(super) dtype: String,
    pub(super) grads: Grads,
    /// The gradients once clipped, or as they were where it raised.
    pub(super) after: Option<Grads>,
    pub(super) err: Option<Raised>,
    #[serde(flatten)]
    pub(super) op: Op,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(super) enum Op {
    Norm(ByNorm),
    Value { clip_value: Num },
}

impl Op {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Norm(clip) => format!("norm {} to {:e}", clip.norm_type, clip.max_norm.0),
            Self::Value { clip_value } => format!("value to {:e}", clip_value.0),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct ByNorm {
    /// The norm's order, as Python writes it.
    pub(super) norm_type: String,
    pub(super) max_norm: Num,
    pub(super) error_if_nonfinite: bool,
    #[serde(flatten)]
    pub(super) measured: Option<Measured>,
}

/// Measurements of a clip, absent where it raised.
#[derive(Debug, Deserialize)]
pub(super) struct Measured {
    pub(super) total: u32,
    /// Element type of `total` and `coef`.
    pub(super) total_dtype: String,
    pub(super) coef: u32,
    /// Total in f64, of finite gradients only.
    pub(super) exact_total: Option<Num>,
}
