//! `clip_grad_norm_`.

use super::format::{ByNorm, Case, Measured};
use super::gradients::Set;
use super::total::Total;
use crate::replay::bits::{narrow, same_bits};
use crate::replay::differences::Difference;
use crate::replay::dtype;
use crate::replay::error::{Wrong, same};
use crate::replay::notes::Notes;
use crate::replay::trace::Raised;
use binade_core::cast::{self, OnOverflow};
use binade_core::{DType, Error as _, ErrorKind, FoundInf};
use binade_cpu::{Cpu, Error};
use binade_grad_scaler::{GradOps, Norm, clip_factor};
use binade_master_weights::step::Factor;

pub(super) fn replay(
    clip: &ByNorm,
    set: &Set,
    case: &Case,
    notes: &mut Notes,
) -> Result<(), Wrong> {
    let recorded = recorded(clip, case.err.as_ref())?;
    match order(&clip.norm_type)? {
        Some(norm) => measured(norm, clip, set, recorded, notes)?,
        None => {
            notes.skipped(format!("totals of norms of order {}, not offered", clip.norm_type), 1);
        }
    }
    let Some(measured) = recorded else {
        return set.same(case.after.as_ref());
    };
    clipped(measured, set, case, notes)?;
    coefficient(measured, narrow(clip.max_norm.0), notes)
}

/// Returns what was measured, or none where it raised for a total that is not finite.
fn recorded<'a>(clip: &'a ByNorm, err: Option<&Raised>) -> Result<Option<&'a Measured>, Wrong> {
    let start = format!(
        "The total norm of order {} for gradients from `parameters` is non-finite",
        clip.norm_type
    );
    match (&clip.measured, err) {
        (None, Some(err)) if err.class == "RuntimeError" && err.msg.starts_with(&start) => {
            same("error_if_nonfinite", &true, &clip.error_if_nonfinite)?;
            Ok(None)
        }
        (None, Some(err)) => Err(Wrong::Result(format!("nothing here raises `{}`", err.msg))),
        (Some(_), Some(_)) => Err(Wrong::Recording("it has an error and a total".into())),
        (None, None) => Err(Wrong::Recording("it has neither a total nor an error".into())),
        (measured, None) => Ok(measured.as_ref()),
    }
}

/// The norm of an order that we offer.
fn order(norm_type: &str) -> Result<Option<Norm>, Wrong> {
    match norm_type.parse() {
        Ok(2.0) => Ok(Some(Norm::L2)),
        Ok(f64::INFINITY) => Ok(Some(Norm::Infinity)),
        Ok(_) => Ok(None),
        Err(_) => Err(Wrong::Recording(format!("'{norm_type}' is no order of a norm"))),
    }
}

/// Measures by our norm, and compares the total.
fn measured(
    norm: Norm,
    clip: &ByNorm,
    set: &Set,
    recorded: Option<&Measured>,
    notes: &mut Notes,
) -> Result<(), Wrong> {
    let mut grads = set.on_cpu()?;
    let mut verdict = FoundInf::default();
    let max = narrow(clip.max_norm.0);
    if let Err(error) = Cpu.clip_norm(&mut grads, norm, max, &mut verdict) {
        refused(&error, max, notes)?;
        let again = Cpu.clip_norm(&mut grads, norm, f32::INFINITY, &mut verdict);
        again.map_err(|error| Wrong::Result(error.to_string()))?;
    }
    let ours = verdict.norm.ok_or_else(|| Wrong::Result("no norm was measured".into()))?;
    same("a raised verdict", &verdict.is_raised(), &!ours.is_finite())?;
    let exact = recorded.and_then(|m| m.exact_total.as_ref()).map(|exact| exact.0);
    Total::new(norm, set, exact).compare(ours, recorded, notes)
}

/// Passes where `max` is what was refused.
pub(super) fn refused(error: &Error, max: f32, notes: &mut Notes) -> Result<(), Wrong> {
    let is_mistake = max <= 0.0 || max.is_nan();
    if is_mistake && error.kind() == ErrorKind::InvalidArgument {
        notes.differs(Difference::LimitNotPositive);
        return Ok(());
    }
    Err(Wrong::Result(format!("it was refused, and had not been: {error}")))
}

/// The gradients bit for bit, given the coefficient.
fn clipped(measured: &Measured, set: &Set, case: &Case, notes: &mut Notes) -> Result<(), Wrong> {
    let clip = dtype::decode(dtype::castable(&measured.total_dtype)?, measured.coef)?;
    let factor = Factor { clip, ..Factor::ONE };
    set.map(|x| factor.apply(x)).same(case.after.as_ref())?;
    notes.compared("sets of gradients clipped by the recorded coefficient", 1);
    Ok(())
}

/// The coefficient is torch's by its own total, to the bit; ours is another, by the 1e-6 alone.
fn coefficient(measured: &Measured, max: f32, notes: &mut Notes) -> Result<(), Wrong> {
    let dtype = dtype::castable(&measured.total_dtype)?;
    let (total, was) =
        (dtype::decode(dtype, measured.total)?, dtype::decode(dtype, measured.coef)?);
    same_bits("torch's coefficient", &[torchs(total, max, dtype)], &[was.to_bits()])?;
    if dtype == DType::F32
        && max > 0.0
        && total.is_finite()
        && clip_factor(f64::from(total), max) != was
    {
        notes.differs(Difference::NormPlus1e6);
    }
    Ok(())
}

/// `max / (total + 1e-6)`, at most 1: torch multiplies by the reciprocal, and rounds each result to the total's type.
fn torchs(total: f32, max: f32, dtype: DType) -> f32 {
    let rounded = |x| cast::round(x, dtype, OnOverflow::NonFinite).unwrap_or(f32::NAN);
    let coefficient = rounded(rounded(1.0 / rounded(total + 1e-6)) * max);
    if coefficient > 1.0 { 1.0 } else { coefficient }
}
