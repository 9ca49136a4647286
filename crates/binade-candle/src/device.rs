//! Sets of gradients on their device: candle's own operations process them, and one read serves a whole set.
//!
//! candle has no test for elements that are not finite and no norm, and its reductions compute in their operand's type. So all elements are widened
//! first. The host reads one number for each gradient, all in one tensor.

use crate::Error;
use crate::elements::trainable;
use crate::read::read;
use crate::scaler::times;
use binade_core::{
    FoundInf, Gradient, HostDeviceError, MatchError, Named, NamedGrads, SparseGrads,
    check_same_parameters,
};
use binade_grad_scaler::ScaleState;
use candle_core::{DType, Result as CandleResult, Tensor, WithDType};
use std::sync::Arc;

mod clip;
#[cfg(test)]
mod tests;

pub(crate) use clip::{clip_groups, clip_norm, clip_value};

/// Returns the sets that this module processes: all of their gradients are whole, and one is on a CUDA device.
///
/// On the CPU a loop over a copy takes fewer passes, and its norms have the bits of the kit's oracles. Metal has no `f64`.
pub(crate) fn own<'s>(
    sets: impl IntoIterator<Item = &'s SparseGrads<Tensor>>,
) -> Option<Vec<NamedGrads<Tensor>>> {
    let sets = sets.into_iter().map(whole).collect::<Option<Vec<_>>>()?;
    let on_cuda = sets.iter().flat_map(present).any(|(_, grad)| grad.device().is_cuda());
    on_cuda.then_some(sets)
}

/// Returns a set that has no sparse gradient.
fn whole(grads: &SparseGrads<Tensor>) -> Option<NamedGrads<Tensor>> {
    let one = |Named { name, value }: &Named<Option<Gradient<Tensor>>>| {
        let value = match value {
            None => None,
            Some(Gradient::Dense(tensor)) => Some(tensor.clone()),
            Some(Gradient::Sparse(_)) => return None,
        };
        Some(Named { name: name.clone(), value })
    };
    grads.0.iter().map(one).collect()
}

/// Returns the names of a set, with the shapes of the parameters whose gradients are there.
pub(crate) fn shapes(
    grads: &SparseGrads<Tensor>,
) -> impl Iterator<Item = (&Arc<str>, Option<&[usize]>)> + Clone {
    fn dims(gradient: &Gradient<Tensor>) -> &[usize] {
        match gradient {
            Gradient::Dense(tensor) => tensor.dims(),
            Gradient::Sparse(sparse) => &sparse.rows.shape,
        }
    }
    grads.0.iter().map(|grad| (&grad.name, grad.value.as_ref().map(dims)))
}

/// Unscales as `GradScaler::unscale` does, with one read. Each gradient that is not finite takes one more, to find the elements.
pub(crate) fn unscale(
    grads: &mut NamedGrads<Tensor>,
    scale: &ScaleState,
) -> Result<FoundInf, Error> {
    present(grads).try_for_each(|(name, grad)| trainable(name, grad).map(drop))?;
    let unscaled = map(grads, |_, grad| times(&grad.detach(), scale.inverse()))?;
    let pairs = present(grads).zip(present(&unscaled));
    let mut sizes = gathered::<f32>(pairs.map(|((_, was), (_, is))| largest(was, is)))?.into_iter();
    let mut found = FoundInf { halted: scale.diverged, ..FoundInf::default() };
    for Named { name, value } in &*grads {
        let Some(grad) = value else {
            found.missing.push(name.clone());
            continue;
        };
        match sizes.next() {
            Some(size) if size.is_finite() => found.magnitude = found.magnitude.max(size),
            _ => look(&mut found, name, grad, scale)?,
        }
    }
    *grads = unscaled;
    Ok(found)
}

/// Returns the largest |scaled| of a gradient whose elements are all finite before and after unscaling; else NaN.
fn largest(scaled: &Tensor, unscaled: &Tensor) -> CandleResult<Tensor> {
    if scaled.elem_count() == 0 {
        return Tensor::zeros((), DType::F32, scaled.device());
    }
    let size = scaled.detach().to_dtype(DType::F32)?.abs()?.max_all()?;
    // A finite number minus itself is 0, any other number minus itself NaN; a maximum alone may miss a NaN. Unscaling makes no infinite number
    // finite.
    size + unscaled.sub(unscaled)?.sum_all()?
}

/// Checks one gradient element by element.
fn look(
    found: &mut FoundInf,
    name: &Arc<str>,
    grad: &Tensor,
    scale: &ScaleState,
) -> CandleResult<()> {
    let inverse = scale.inverse();
    for (index, scaled) in
        read::<f32>(&grad.detach().to_dtype(DType::F32)?)?.into_iter().enumerate()
    {
        found.check(name, index as u64, scaled, scaled * inverse);
    }
    Ok(())
}

/// Adds gradients as `GradOps::accumulate` does, without a read.
pub(crate) fn accumulate(
    sum: Option<NamedGrads<Tensor>>,
    mut grads: NamedGrads<Tensor>,
    found: &FoundInf,
) -> Result<NamedGrads<Tensor>, Error> {
    let bad = found.is_raised();
    let Some(mut sum) = sum else {
        grads.iter_mut().filter(|_| bad).for_each(|grad| grad.value = None);
        return Ok(map(&grads, |_, grad| grad.to_dtype(DType::F32))?);
    };
    check_same_parameters(dims(&sum), dims(&grads)).map_err(mismatch)?;
    for (total, grad) in sum.iter_mut().zip(grads).filter(|_| !bad) {
        if let Some(grad) = grad.value {
            let grad = grad.to_dtype(DType::F32)?;
            total.value = Some(total.value.take().map_or(Ok(grad.clone()), |sum| sum + grad)?);
        }
    }
    Ok(sum)
}

pub(crate) fn mismatch(MatchError { parameter, why }: MatchError) -> Error {
    HostDeviceError::Mismatch { parameter, why }.into()
}

fn dims(grads: &NamedGrads<Tensor>) -> impl Iterator<Item = (&Arc<str>, Option<&[usize]>)> {
    grads.iter().map(|grad| (&grad.name, grad.value.as_ref().map(Tensor::dims)))
}

/// Returns the gradients that are present.
fn present(grads: &NamedGrads<Tensor>) -> impl Iterator<Item = (&Arc<str>, &Tensor)> {
    grads.iter().filter_map(|grad| Some((&grad.name, grad.value.as_ref()?)))
}

/// Returns the set with each gradient replaced. If a replacement fails, the old set is unchanged.
fn map(
    grads: &NamedGrads<Tensor>,
    f: impl Fn(&str, &Tensor) -> CandleResult<Tensor>,
) -> CandleResult<NamedGrads<Tensor>> {
    let one = |grad: &Named<Option<Tensor>>| {
        let new = grad.value.as_ref().map(|value| f(&grad.name, value));
        Ok(Named::new(grad.name.clone(), new.transpose()?))
    };
    grads.iter().map(one).collect()
}

/// Reads scalars in one read. If one is on a CUDA device, all are moved there first: moved to the CPU, each would be a read of its own.
fn gathered<S: WithDType>(
    scalars: impl Iterator<Item = CandleResult<Tensor>>,
) -> CandleResult<Vec<S>> {
    let scalars = scalars.collect::<CandleResult<Vec<_>>>()?;
    let Some(first) = scalars.first() else { return Ok(Vec::new()) };
    let on_cuda = scalars.iter().find(|scalar| scalar.device().is_cuda());
    let device = on_cuda.unwrap_or(first).device();
    let moved = scalars.iter().map(|scalar| scalar.to_device(device));
    read(&Tensor::stack(&moved.collect::<CandleResult<Vec<_>>>()?, 0)?)
}
