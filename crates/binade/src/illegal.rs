//! Properties that are refused together, each with the reason.

use crate::{OptLevel, Properties};
use binade_core::{DType, Error, ErrorKind};
use binade_grad_scaler::LossScale;
use binade_interchange::DTypePolicy;

/// Combination of properties that would not do what its author means.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Illegal {
    /// Low type that is neither bf16 nor f16.
    #[error("{level} with {dtype}: the low type must be bf16 or f16{}", without_one(*dtype))]
    LowType {
        /// Level of the properties.
        level: OptLevel,
        /// Type asked for.
        dtype: DType,
    },
    /// Storage type at O1, which leaves parameters alone.
    #[error(
        "O1 casts operands where they are used and leaves parameters in f32; {dtype} parameters are what O2 is for"
    )]
    StorageAtO1 {
        /// Type asked for.
        dtype: DType,
    },
    /// Autocast outside O1, the only level that casts by policy.
    #[error(
        "{0} casts parameters, not operations; autocast belongs to O1: choose O1, or leave autocast off"
    )]
    AutocastOutsideO1(OptLevel),
    /// Choice about normalisation at O1, which keeps all parameters in `f32`.
    #[error(
        "O1 keeps all parameters in f32, so keep_norm_f32 has nothing to say there; leave it out, or choose O2"
    )]
    NormAtO1,
    /// Choice about masters at O1, whose parameters are their own.
    #[error(
        "O1 keeps all parameters in f32, so they are their own masters; leave master_weights out, or choose O2"
    )]
    MastersAtO1,
    /// A type that parameters cannot be trained in.
    #[error("{level} with parameters in {dtype}: they can be stored in bf16, f16 or f32")]
    Storage {
        /// Level of the properties.
        level: OptLevel,
        /// Type asked for.
        dtype: DType,
    },
    /// A scale of at most 1, at which small gradients vanish in f16: half of its smallest number, 2^-24, rounds to 0.
    #[error(
        "{0} in f16 without loss scaling: gradients up to 2^-25 become zero without a word. Leave the loss scale \
         dynamic, choose bf16, or ask for it with `allow_unscaled_f16()`"
    )]
    UnscaledF16(OptLevel),
    /// A type that no output can have.
    #[error("{level} with outputs in {dtype}: they can be brought to bf16, f16 or f32")]
    Outputs {
        /// Level of the properties.
        level: OptLevel,
        /// Type asked for.
        dtype: DType,
    },
    /// Policy whose types no level has.
    #[error(
        "no opt level is `{0}`: parameters are f32, or of the type computed in; take `p=full,c=f16`, which is O1, `f16`, which \
         is O2, or `full`, which is O0"
    )]
    Policy(DTypePolicy),
    /// Parameters in 16 bits without masters, which lose small updates.
    #[error(
        "{level} stores {dtype} parameters without masters: updates below half a unit in the last place are lost. Keep \
         master_weights, or choose O3, which is that choice by name"
    )]
    NoMasters {
        /// Level of the properties.
        level: OptLevel,
        /// Type that parameters are stored in.
        dtype: DType,
    },
}

impl Error for Illegal {
    fn kind(&self) -> ErrorKind {
        ErrorKind::InvalidArgument
    }
}

impl Properties {
    /// Refuses a combination that would not do what its author means.
    ///
    /// # Errors
    ///
    /// The first reason found.
    pub fn check(&self) -> Result<(), Illegal> {
        self.check_types()?;
        if self.level == OptLevel::O1 {
            self.check_o1()?;
        } else if self.autocast {
            return Err(Illegal::AutocastOutsideO1(self.level));
        }
        self.check_losses()
    }

    fn check_types(&self) -> Result<(), Illegal> {
        let (level, dtype) = (self.level, self.dtype);
        if level != OptLevel::O0 && !is_low(dtype) {
            return Err(Illegal::LowType { level, dtype });
        }
        let unfit = |dtype: &DType| !is_low(*dtype) && *dtype != DType::F32;
        if let Some(dtype) = self.outputs.filter(unfit) {
            return Err(Illegal::Outputs { level, dtype });
        }
        match self.storage.filter(unfit) {
            Some(dtype) => Err(Illegal::Storage { level, dtype }),
            None => Ok(()),
        }
    }

    fn check_o1(&self) -> Result<(), Illegal> {
        match self.storage {
            Some(dtype) if dtype != DType::F32 => Err(Illegal::StorageAtO1 { dtype }),
            _ if self.keep_norm_f32.is_some() => Err(Illegal::NormAtO1),
            _ if self.master_weights.is_some() => Err(Illegal::MastersAtO1),
            _ => Ok(()),
        }
    }

    /// Refuses properties that lose small gradients or small updates in 16 bits, unless that was asked for.
    fn check_losses(&self) -> Result<(), Illegal> {
        let level = self.level;
        if self.loses_small_gradients() && !self.unscaled_f16 {
            return Err(Illegal::UnscaledF16(level));
        }
        match self.loses_small_updates() {
            Some(dtype) if level != OptLevel::O3 => Err(Illegal::NoMasters { level, dtype }),
            _ => Ok(()),
        }
    }

    fn computes_in_f16(&self) -> bool {
        (self.autocast && self.dtype == DType::F16) || self.storage == Some(DType::F16)
    }

    /// Returns true if gradients go through f16 at a scale that never lifts them.
    pub(crate) fn loses_small_gradients(&self) -> bool {
        self.computes_in_f16() && !lifts(&self.loss_scale)
    }

    /// Returns the type of parameters in 16 bits that no master backs.
    pub(crate) fn loses_small_updates(&self) -> Option<DType> {
        self.storage.filter(|&dtype| is_low(dtype) && self.master_weights != Some(true))
    }
}

/// Returns a hint for f32: O0 is the level that lowers nothing.
const fn without_one(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "; to train in f32, take O0",
        _ => "",
    }
}

fn is_low(dtype: DType) -> bool {
    matches!(dtype, DType::BF16 | DType::F16)
}

/// Returns true if the scale is above 1 at the start, or can rise there.
fn lifts(rule: &LossScale) -> bool {
    rule.start().exponent > 0
        || (rule.max_exponent > 0 && (rule.growth_exponent > 0 || rule.log_max.is_some()))
}
