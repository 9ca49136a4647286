//! Clipping on the device: norms in `f64`, one number for each gradient.

use super::{gathered, map, present};
use crate::scaler::times;
use crate::{Candle, Error};
use binade_core::{FoundInf, Named, NamedGrads};
use binade_grad_scaler::{ClipGroup, GradOps, Norm, clip_factor};
use candle_core::{DType, Result as CandleResult, Tensor};

/// Clips as `GradOps::clip_norm` does, with one read.
pub(crate) fn clip_norm(
    grads: &mut NamedGrads<Tensor>,
    norm: Norm,
    max: f32,
    verdict: &mut FoundInf,
) -> Result<(), Error> {
    // An empty set, for the check of the limit by `HostDevice`.
    Candle::HOST.clip_norm(&mut Vec::new(), norm, max, &mut FoundInf::default())?;
    let parts = gathered::<f64>(present(grads).map(|(_, grad)| part(norm, grad)))?;
    let total = total(norm, parts.into_iter());
    verdict.record_norm(total);
    let factor = clip_factor(total, max);
    if factor != 1.0 {
        *grads = map(grads, |_, grad| times(grad, factor))?;
    }
    Ok(())
}

/// Clips as `GradOps::clip_groups` does, with one read for all groups.
pub(crate) fn clip_groups(
    grads: &mut NamedGrads<Tensor>,
    groups: &[ClipGroup],
    verdict: &mut FoundInf,
) -> Result<(), Error> {
    // Names alone, for the check of the groups by `HostDevice`.
    let mut names = grads.iter().map(|grad| Named::new(grad.name.clone(), None)).collect();
    Candle::HOST.clip_groups(&mut names, groups, &mut FoundInf::default())?;
    let member = |name: &str| groups.iter().position(|of| of.parameters.iter().any(|n| n == name));
    let measured: Vec<_> =
        present(grads).filter_map(|(name, grad)| Some((member(name)?, grad))).collect();
    let parts = gathered::<f64>(measured.iter().map(|(of, grad)| part(groups[*of].norm, grad)))?;
    let mut factors = Vec::new();
    for (place, of) in groups.iter().enumerate() {
        let own = measured.iter().zip(&parts).filter(|((group, _), _)| *group == place);
        let norm = total(of.norm, own.map(|(_, part)| *part));
        verdict.check_norm(&of.norm_name(), norm);
        factors.push(clip_factor(norm, of.max));
    }
    *grads = map(grads, |name, grad| match member(name).map(|place| factors[place]) {
        Some(factor) if factor != 1.0 => times(grad, factor),
        _ => Ok(grad.clone()),
    })?;
    Ok(())
}

/// Returns one gradient's part of a norm, in `f64`: its sum of squares, or its largest magnitude.
fn part(norm: Norm, grad: &Tensor) -> CandleResult<Tensor> {
    let wide = grad.to_dtype(DType::F64)?;
    match norm {
        Norm::L2 => wide.sqr()?.sum_all(),
        Norm::Infinity if grad.elem_count() == 0 => Tensor::zeros((), DType::F64, grad.device()),
        Norm::Infinity => wide.abs()?.max_all()? + nan(&wide)?,
    }
}

/// Returns NaN if one of the elements is NaN, else 0: a maximum may miss a NaN.
fn nan(wide: &Tensor) -> CandleResult<Tensor> {
    wide.ne(wide)?.where_cond(wide, &wide.zeros_like()?)?.sum_all()
}

fn total(norm: Norm, parts: impl Iterator<Item = f64>) -> f64 {
    // Not by `sum`, which begins at -0, nor by `f64::max`, which would drop a NaN.
    match norm {
        Norm::L2 => parts.fold(0.0, |total, squares| total + squares).sqrt(),
        Norm::Infinity => {
            parts.fold(0.0, |total, x| if x > total || x.is_nan() { x } else { total })
        }
    }
}

/// Clips as `GradOps::clip_value` does, without a read.
pub(crate) fn clip_value(grads: &mut NamedGrads<Tensor>, max: f32) -> Result<(), Error> {
    Candle::HOST.clip_value(&mut Vec::new(), max)?;
    *grads = map(grads, |_, grad| {
        // A clamp may replace NaN by a limit.
        grad.ne(grad)?.where_cond(grad, &grad.clamp(-max, max)?)
    })?;
    Ok(())
}
