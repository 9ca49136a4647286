//! What an opt level consists of, what may be changed about it, and which changes are refused.

use crate::OptLevel;
use binade_core::DType;
use binade_grad_scaler::LossScale;

/// The parts of an opt level, after Apex's table:
///
/// | | O0 | O1 | O2 | O3 |
/// |---|---|---|---|---|
/// | `storage`: type of parameters | `f32` | as they are | low | low |
/// | `autocast`: operations cast by policy | no | yes | no | no |
/// | `keep_norm_f32` | – | – | yes | no |
/// | `master_weights` | no | – | yes | no |
/// | `loss_scale`, f16 | 1 | dynamic | dynamic | 1 |
/// | `loss_scale`, bf16 | 1 | 1 | 1 | 1 |
///
/// Apex scales bf16 as it does f16. bf16 has the exponents of `f32`, so here its scale is 1, and gradients are checked
/// all the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Properties {
    level: OptLevel,
    dtype: DType,
    pub(crate) storage: Option<DType>,
    pub(crate) autocast: bool,
    pub(crate) keep_norm_f32: Option<bool>,
    pub(crate) master_weights: Option<bool>,
    pub(crate) loss_scale: LossScale,
    unscaled_f16: bool,
}

/// A combination that would not do what its author means.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Illegal {
    /// The low type is not one.
    #[error("{level} with {dtype}: the low type must be bf16 or f16")]
    LowType {
        /// The level.
        level: OptLevel,
        /// The type asked for.
        dtype: DType,
    },
    /// O1 leaves parameters alone.
    #[error(
        "O1 casts operands where they are used and leaves parameters in f32; {dtype} parameters are what O2 is for"
    )]
    StorageAtO1 {
        /// The type asked for.
        dtype: DType,
    },
    /// Only O1 casts by policy.
    #[error(
        "{0} casts parameters, not operations; autocast belongs to O1: choose O1, or leave autocast off"
    )]
    AutocastOutsideO1(OptLevel),
    /// O1 has nothing to keep in `f32`.
    #[error(
        "O1 keeps all parameters in f32, so keep_norm_f32 has nothing to say there; leave it out, or choose O2"
    )]
    NormAtO1,
    /// O1's parameters are their own masters.
    #[error(
        "O1 keeps all parameters in f32, so they are their own masters; leave master_weights out, or choose O2"
    )]
    MastersAtO1,
    /// f16 gradients below 2^-24 vanish without a scale.
    #[error(
        "{0} in f16 without loss scaling: gradients below 2^-24 become zero without a word. Leave the loss scale \
         dynamic, choose bf16, or ask for it with `allow_unscaled_f16()`"
    )]
    UnscaledF16(OptLevel),
    /// f16 parameters that no master backs lose small updates.
    #[error(
        "{0} stores f16 parameters without masters: updates below half a unit in the last place are lost. Keep \
         master_weights, or choose O3, which is that choice by name"
    )]
    NoMasters(OptLevel),
}

impl Properties {
    pub(crate) fn of(level: OptLevel, dtype: DType) -> Self {
        let scaled = matches!(level, OptLevel::O1 | OptLevel::O2) && dtype == DType::F16;
        Self {
            level,
            dtype,
            storage: match level {
                OptLevel::O0 => Some(DType::F32),
                OptLevel::O1 => None,
                OptLevel::O2 | OptLevel::O3 => Some(dtype),
            },
            autocast: level == OptLevel::O1,
            keep_norm_f32: match level {
                OptLevel::O0 | OptLevel::O1 => None,
                OptLevel::O2 => Some(true),
                OptLevel::O3 => Some(false),
            },
            master_weights: match level {
                OptLevel::O1 => None,
                OptLevel::O2 => Some(true),
                OptLevel::O0 | OptLevel::O3 => Some(false),
            },
            loss_scale: if scaled { LossScale::dynamic() } else { LossScale::none() },
            unscaled_f16: level == OptLevel::O3,
        }
    }

    /// The level these started from.
    pub fn level(&self) -> OptLevel {
        self.level
    }

    /// The low type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// How the loss scale moves.
    pub fn loss_scale(&self) -> LossScale {
        self.loss_scale
    }

    /// Stores parameters in `dtype`.
    #[must_use]
    pub fn with_storage(self, dtype: DType) -> Self {
        Self { storage: Some(dtype), ..self }
    }

    /// Casts operations by policy, or not.
    #[must_use]
    pub fn with_autocast(self, on: bool) -> Self {
        Self { autocast: on, ..self }
    }

    /// Keeps normalisation in `f32`, or not.
    #[must_use]
    pub fn with_keep_norm_f32(self, keep: bool) -> Self {
        Self { keep_norm_f32: Some(keep), ..self }
    }

    /// Keeps `f32` masters of low-precision parameters, or not.
    #[must_use]
    pub fn with_master_weights(self, keep: bool) -> Self {
        Self { master_weights: Some(keep), ..self }
    }

    /// Scales losses by another rule.
    #[must_use]
    pub fn with_loss_scale(self, rule: LossScale) -> Self {
        Self { loss_scale: rule, ..self }
    }

    /// Says that f16 without a loss scale is meant.
    #[must_use]
    pub fn allow_unscaled_f16(self) -> Self {
        Self { unscaled_f16: true, ..self }
    }

    /// Refuses what would not do what its author means.
    ///
    /// # Errors
    ///
    /// The first reason found.
    pub fn check(&self) -> Result<(), Illegal> {
        let level = self.level;
        let low = matches!(self.dtype, DType::BF16 | DType::F16);
        if level != OptLevel::O0 && !low {
            return Err(Illegal::LowType { level, dtype: self.dtype });
        }
        self.check_o1()?;
        if self.autocast && level != OptLevel::O1 {
            return Err(Illegal::AutocastOutsideO1(level));
        }
        if self.computes_in_f16() && self.is_unscaled() && !self.unscaled_f16 {
            return Err(Illegal::UnscaledF16(level));
        }
        let forgotten = self.storage == Some(DType::F16) && self.master_weights != Some(true);
        if forgotten && level != OptLevel::O3 {
            return Err(Illegal::NoMasters(level));
        }
        Ok(())
    }

    fn check_o1(&self) -> Result<(), Illegal> {
        match (self.level, self.storage) {
            (OptLevel::O1, Some(dtype)) if dtype != DType::F32 => {
                Err(Illegal::StorageAtO1 { dtype })
            }
            (OptLevel::O1, _) if self.keep_norm_f32.is_some() => Err(Illegal::NormAtO1),
            (OptLevel::O1, _) if self.master_weights.is_some() => Err(Illegal::MastersAtO1),
            _ => Ok(()),
        }
    }

    fn computes_in_f16(&self) -> bool {
        (self.autocast && self.dtype == DType::F16) || self.storage == Some(DType::F16)
    }

    /// A rule that starts at 1 and never moves.
    fn is_unscaled(&self) -> bool {
        let rule = self.loss_scale;
        rule.init == 0 && rule.growth == 0
    }
}
