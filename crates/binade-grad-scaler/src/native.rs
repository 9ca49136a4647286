//! Loss scaling for a stranger's host tensor: sets are `Vec<Named<Option<T>>>`.

use crate::{GradOps, GradScaler, HostScale, Loss, Norm, ScaleState, clip_factor, record_norm};
use binade_core::{AmpTensor, DType, Finding, Named, NamedGrads, Native, NativeError, OrderError};

impl<T: AmpTensor> HostScale for Native<T> {}

impl<T: AmpTensor> Loss<Native<T>> for T {
    type Error = NativeError<T::Error>;

    fn scaled(&self, _: &Native<T>, scale: &ScaleState) -> Result<T, NativeError<T::Error>> {
        let before = elements(self)?;
        let scaled = AmpTensor::scaled(self, scale.factor())?;
        // `scaled` as provided writes to what `cast` gave it.
        if elements(self)?
            .iter()
            .zip(&before)
            .all(|(now, before)| now.to_bits() == before.to_bits())
        {
            return Ok(scaled);
        }
        Err(NativeError::Mismatch { parameter: "the loss".into(), why: ALIAS })
    }

    fn unscaled(&self, _: &Native<T>, scale: &ScaleState) -> Result<T, NativeError<T::Error>> {
        Ok(AmpTensor::scaled(self, scale.inverse())?)
    }
}

impl<T: AmpTensor> GradScaler for Native<T> {
    fn unscale(
        &self,
        grads: &mut NamedGrads<T>,
        scale: &ScaleState,
    ) -> Result<Finding, NativeError<T::Error>> {
        let mut found = Finding { halted: scale.diverged, ..Finding::default() };
        let inverse = scale.inverse();
        for Named { name, value } in grads {
            let Some(grad) = value else {
                found.missing.push(name.clone());
                continue;
            };
            *grad = grad.cast(DType::F32)?;
            grad.map_f32(&mut |index, scaled| {
                let unscaled = scaled * inverse;
                found.check(name, index as u64, scaled, unscaled);
                unscaled
            });
        }
        Ok(found)
    }

    fn order_error(&self, error: OrderError) -> NativeError<T::Error> {
        NativeError::Order(error)
    }
}

impl<T: AmpTensor> GradOps for Native<T> {
    fn clip_norm(
        &self,
        grads: &mut NamedGrads<T>,
        norm: Norm,
        max: f32,
        verdict: &mut Finding,
    ) -> Result<(), NativeError<T::Error>> {
        positive("clip_norm", max)?;
        let total = self::norm(norm, grads.iter_mut().filter_map(|g| g.value.as_mut()));
        record_norm(verdict, total);
        let factor = clip_factor(total, max);
        if factor != 1.0 {
            each(grads, |x| x * factor);
        }
        Ok(())
    }

    fn clip_value(&self, grads: &mut NamedGrads<T>, max: f32) -> Result<(), NativeError<T::Error>> {
        positive("clip_value", max)?;
        each(grads, |x| if x.is_nan() { x } else { x.clamp(-max, max) });
        Ok(())
    }

    fn accumulate(
        &self,
        sum: Option<NamedGrads<T>>,
        grads: NamedGrads<T>,
        found: &Finding,
    ) -> Result<NamedGrads<T>, NativeError<T::Error>> {
        let bad = found.is_raised();
        let Some(mut sum) = sum else {
            return first(grads, bad);
        };
        same_names(&sum, &grads)?;
        for (total, grad) in sum.iter_mut().zip(grads).filter(|_| !bad) {
            total.value = match (total.value.take(), grad.value) {
                (Some(so_far), Some(grad)) => Some(plus(so_far, grad, &total.name)?),
                (None, Some(grad)) => Some(grad.cast(DType::F32)?),
                (so_far, None) => so_far,
            };
        }
        Ok(sum)
    }
}

const ALIAS: &str = "scaling it has changed it: `AmpTensor::cast` to its own type shares elements with it, and has to copy; a tensor that records gradients needs a `scaled` of its own too, by the library's multiplication";

/// The elements, read from a cast, which copies: a clone may share them, and a write would be seen by whoever records gradients.
pub(crate) fn elements<T: AmpTensor>(tensor: &T) -> Result<Vec<f32>, T::Error> {
    let mut elements = Vec::new();
    tensor.cast(DType::F32)?.map_f32(&mut |_, x| {
        elements.push(x);
        x
    });
    Ok(elements)
}

/// The norm of all of `grads` together, in `f64`: enough for squares of 1e25 and for 64 M terms.
pub(crate) fn norm<'g, T: AmpTensor + 'g>(
    which: Norm,
    grads: impl Iterator<Item = &'g mut T>,
) -> f64 {
    let mut total = 0.0_f64;
    for grad in grads {
        grad.map_f32(&mut |_, x| {
            let x64 = f64::from(x);
            total = match which {
                Norm::L2 => x64 * x64 + total,
                // Not `f64::max`, which would let a NaN pass.
                Norm::Infinity if x64.abs() > total || x64.is_nan() => x64.abs(),
                Norm::Infinity => total,
            };
            x
        });
    }
    if which == Norm::L2 { total.sqrt() } else { total }
}

fn positive<E>(what: &'static str, max: f32) -> Result<(), NativeError<E>> {
    if max > 0.0 {
        Ok(())
    } else {
        Err(NativeError::Invalid { what, value: f64::from(max), expected: "a limit above 0" })
    }
}

fn each<T: AmpTensor>(grads: &mut NamedGrads<T>, mut f: impl FnMut(f32) -> f32) {
    for grad in grads.iter_mut().filter_map(|g| g.value.as_mut()) {
        grad.map_f32(&mut |_, x| f(x));
    }
}

/// The first gradients of a window in `f32`; none of them if they are bad, since zeros would decay and age parameters.
fn first<T: AmpTensor>(
    mut grads: NamedGrads<T>,
    bad: bool,
) -> Result<NamedGrads<T>, NativeError<T::Error>> {
    for value in grads.iter_mut().map(|grad| &mut grad.value) {
        *value = match value.take() {
            Some(grad) if !bad => Some(grad.cast(DType::F32)?),
            _ => None,
        };
    }
    Ok(grads)
}

fn same_names<T, E>(sum: &NamedGrads<T>, grads: &NamedGrads<T>) -> Result<(), NativeError<E>> {
    let differs = sum.iter().zip(grads).find(|(a, b)| a.name != b.name).map(|(_, b)| &b.name);
    let extra = || grads.get(sum.len()).or(sum.get(grads.len())).map(|g| &g.name);
    match differs.or_else(extra) {
        None => Ok(()),
        Some(name) => Err(NativeError::Mismatch {
            parameter: name.clone(),
            why: "micro-batches of one window must list the same parameters in the same order",
        }),
    }
}

fn plus<T: AmpTensor>(
    mut total: T,
    mut grad: T,
    name: &std::sync::Arc<str>,
) -> Result<T, NativeError<T::Error>> {
    NativeError::same_shapes(name, &grad, &total)?;
    let mut terms = Vec::new();
    grad.map_f32(&mut |_, x| {
        terms.push(x);
        x
    });
    let mut length = 0;
    total.map_f32(&mut |index, x| {
        length = index + 1;
        terms.get(index).map_or(x, |term| x + term)
    });
    if length == terms.len() {
        return Ok(total);
    }
    let why = "its gradient has another length than in earlier micro-batches";
    Err(NativeError::Mismatch { parameter: name.clone(), why })
}
