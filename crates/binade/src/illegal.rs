//! Properties that are refused together, each with the reason.

use crate::{OptLevel, Properties};
use binade_core::{DType, Error, ErrorKind};
use binade_grad_scaler::LossScale;

/// Combination of properties that is refused, with the reason and a remedy.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct Illegal(pub(crate) String);

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
        self.check_layers()?;
        if self.level == OptLevel::O1 {
            self.check_o1()?;
        } else if self.autocast {
            return Err(Illegal(format!(
                "{} casts parameters, not operations; autocast belongs to O1: choose O1, or leave autocast off",
                self.level
            )));
        }
        self.check_losses()
    }

    fn check_types(&self) -> Result<(), Illegal> {
        let (level, dtype) = (self.level, self.dtype);
        if level != OptLevel::O0 && !is_low(dtype) {
            let advice = if dtype == DType::F32 { "; to train in f32, take O0" } else { "" };
            return Err(Illegal(format!(
                "{level} with {dtype}: the low type must be bf16 or f16{advice}"
            )));
        }
        let unfit = |dtype: &DType| !is_low(*dtype) && *dtype != DType::F32;
        if let Some(dtype) = self.outputs.filter(unfit) {
            return Err(Illegal(format!(
                "{level} with outputs in {dtype}: they can be brought to bf16, f16 or f32"
            )));
        }
        self.storage.filter(unfit).map_or(Ok(()), |dtype| {
            Err(Illegal(format!(
                "{level} with parameters in {dtype}: they can be stored in bf16, f16 or f32"
            )))
        })
    }

    /// Refuses choices about parameters, all of which O1 keeps in `f32`.
    fn check_o1(&self) -> Result<(), Illegal> {
        let f32 = "O1 keeps all parameters in f32, so";
        match self.storage {
            Some(dtype) if dtype != DType::F32 => Err(Illegal(format!(
                "O1 casts operands where they are used and leaves parameters in f32; {dtype} parameters are what O2 is for"
            ))),
            _ if self.keep_norm_f32.is_some() => Err(Illegal(format!(
                "{f32} keep_norm_f32 has nothing to say there; leave it out, or choose O2"
            ))),
            _ if self.master_weights.is_some() => Err(Illegal(format!(
                "{f32} they are their own masters; leave master_weights out, or choose O2"
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses properties that lose small gradients or small updates in 16 bits, unless that was asked for. At a scale of 1, half
    /// of the smallest f16, 2^-24, rounds to 0.
    fn check_losses(&self) -> Result<(), Illegal> {
        let level = self.level;
        if self.loses_small_gradients() && !self.unscaled_f16 {
            return Err(Illegal(format!(
                "{level} in f16 without loss scaling: gradients up to 2^-25 become zero without a word. Leave the loss scale \
                 dynamic, choose bf16, or ask for it with `unscaled_f16: true`"
            )));
        }
        match self.loses_small_updates() {
            Some(dtype) if level != OptLevel::O3 => Err(Illegal(format!(
                "{level} stores {dtype} parameters without masters: updates below half a unit in the last place are lost. Keep \
                 master_weights, or choose O3, which is that choice by name"
            ))),
            _ => Ok(()),
        }
    }

    fn computes_in_f16(&self) -> bool {
        let layers = || self.layers.iter().any(|(_, policy)| policy.compute == DType::F16);
        (self.autocast && self.dtype == DType::F16) || self.storage == Some(DType::F16) || layers()
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

pub(crate) fn is_low(dtype: DType) -> bool {
    matches!(dtype, DType::BF16 | DType::F16)
}

/// Returns true if the scale is above 1 at the start, or can rise there.
fn lifts(rule: &LossScale) -> bool {
    rule.start().exponent > 0
        || (rule.max_exponent > 0 && (rule.growth_exponent > 0 || rule.log_max.is_some()))
}
