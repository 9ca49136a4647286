//! Properties in words: one line for a log, which says what they give up.

use crate::{OptLevel, Properties};
use binade_core::DType;
use std::fmt::{Display, Formatter, Result};

impl Display for Properties {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.level {
            level if !self.enabled => {
                return write!(f, "{level}, switched off: everything as it is");
            }
            OptLevel::O0 => write!(f, "O0: ")?,
            level => write!(f, "{level} {}: ", self.dtype)?,
        }
        self.parameters(f)?;
        self.operations(f)?;
        self.scaling(f)
    }
}

impl Properties {
    fn parameters(&self, f: &mut Formatter<'_>) -> Result {
        let Some(storage) = self.storage else { return f.write_str("parameters as they are") };
        write!(f, "parameters in {storage}")?;
        if storage == DType::F32 {
            return Ok(());
        }
        let kept = self.keep_norm_f32 == Some(true);
        f.write_str(if kept { ", normalisation in f32" } else { ", normalisation too" })?;
        f.write_str(match self.loses_small_updates() {
            None => ", f32 masters",
            Some(_) => ", no masters, so that small updates are lost",
        })
    }

    fn operations(&self, f: &mut Formatter<'_>) -> Result {
        if self.autocast {
            write!(f, "; operations cast to {} by policy; ", self.dtype)?;
        } else {
            f.write_str("; operations as given; ")?;
        }
        self.layers
            .iter()
            .try_for_each(|(pattern, policy)| write!(f, "`{pattern}` by `{policy}`; "))
    }

    fn scaling(&self, f: &mut Formatter<'_>) -> Result {
        let rule = self.loss_scale;
        match rule.start().exponent {
            0 if rule.is_fixed() => f.write_str("no loss scale")?,
            first if rule.is_fixed() => write!(f, "loss scale 2^{first}, fixed")?,
            first if rule.log_max.is_some() => write!(f, "loss scale from 2^{first}, predicted")?,
            first => write!(f, "loss scale from 2^{first}, dynamic")?,
        }
        let lost = self.loses_small_gradients();
        f.write_str(if lost { ", so that gradients up to 2^-25 become zero" } else { "" })
    }
}
