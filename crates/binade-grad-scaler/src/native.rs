//! Loss scaling for a stranger's host tensor: sets are `Vec<Named<Option<T>>>`.

use crate::{GradOps, GradScaler, HostScale, Norm, ScaleState};
use binade_core::{AmpTensor, DType, Finding, Named, Native, NativeError, Overflow};

/// A host tensor's gradients, by parameter; `None` for a trainable parameter that has none.
type Grads<T> = Vec<Named<Option<T>>>;

impl<T: AmpTensor> HostScale for Native<T> {}

impl<T: AmpTensor> GradScaler for Native<T> {
    type Grads = Grads<T>;

    fn scale(&self, tensor: &T, scale: &ScaleState) -> Result<T, NativeError<T::Error>> {
        Ok(tensor.scaled(scale.factor())?)
    }

    fn unscale_tensor(&self, tensor: &T, scale: &ScaleState) -> Result<T, NativeError<T::Error>> {
        Ok(tensor.scaled(scale.inverse())?)
    }

    fn unscale(
        &self,
        grads: &mut Grads<T>,
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
}

impl<T: AmpTensor> GradOps for Native<T> {
    fn clip_norm(
        &self,
        grads: &mut Grads<T>,
        norm: Norm,
        max: f32,
        verdict: &mut Finding,
    ) -> Result<(), NativeError<T::Error>> {
        positive("clip_norm", max)?;
        let total = measure(grads, norm);
        note_norm(verdict, total);
        if total > f64::from(max) {
            let factor = narrow(f64::from(max) / total);
            each(grads, |x| x * factor);
        }
        Ok(())
    }

    fn clip_value(&self, grads: &mut Grads<T>, max: f32) -> Result<(), NativeError<T::Error>> {
        positive("clip_value", max)?;
        each(grads, |x| if x.is_nan() { x } else { x.clamp(-max, max) });
        Ok(())
    }

    fn add(
        &self,
        sum: Option<Grads<T>>,
        grads: Grads<T>,
        found: &Finding,
    ) -> Result<Grads<T>, NativeError<T::Error>> {
        let bad = found.is_raised();
        let Some(mut sum) = sum else {
            return first(grads, bad);
        };
        same_names(&sum, &grads)?;
        for (total, grad) in sum.iter_mut().zip(grads).filter(|_| !bad) {
            total.value = match (total.value.take(), grad.value) {
                (Some(so_far), Some(grad)) => Some(plus(so_far, grad, &total.name)?),
                (one, other) => one.or(other),
            };
        }
        Ok(sum)
    }
}

/// The norm of all gradients together, in `f64`: enough for squares of 1e25 and for 64 M terms.
fn measure<T: AmpTensor>(grads: &mut Grads<T>, norm: Norm) -> f64 {
    let mut total = 0.0_f64;
    each(grads, |x| {
        let x64 = f64::from(x);
        total = match norm {
            Norm::L2 => x64.mul_add(x64, total),
            // Not `f64::max`, which would let a NaN pass.
            Norm::Infinity if x64.abs() > total || x64.is_nan() => x64.abs(),
            Norm::Infinity => total,
        };
        x
    });
    if norm == Norm::L2 { total.sqrt() } else { total }
}

/// Records the norm; one that is not finite, as `f32`, skips the step.
fn note_norm(verdict: &mut Finding, total: f64) {
    let norm = narrow(total);
    verdict.norm = Some(norm);
    if !norm.is_finite() {
        verdict.overflow.get_or_insert_with(|| Overflow {
            parameter: Norm::NAME.into(),
            index: 0,
            scaled: norm,
            unscaled: norm,
        });
    }
}

#[expect(clippy::cast_possible_truncation, reason = "rounds to f32 on purpose")]
fn narrow(x: f64) -> f32 {
    x as f32
}

fn positive<E>(what: &'static str, max: f32) -> Result<(), NativeError<E>> {
    if max > 0.0 {
        Ok(())
    } else {
        Err(NativeError::Invalid { what, value: f64::from(max), expected: "a limit above 0" })
    }
}

fn each<T: AmpTensor>(grads: &mut Grads<T>, mut f: impl FnMut(f32) -> f32) {
    for grad in grads.iter_mut().filter_map(|g| g.value.as_mut()) {
        grad.map_f32(&mut |_, x| f(x));
    }
}

/// The first gradients of a window in `f32`, as zeros if they are bad.
fn first<T: AmpTensor>(mut grads: Grads<T>, bad: bool) -> Result<Grads<T>, NativeError<T::Error>> {
    for grad in grads.iter_mut().filter_map(|g| g.value.as_mut()) {
        *grad = grad.cast(DType::F32)?;
    }
    if bad {
        each(&mut grads, |_| 0.0);
    }
    Ok(grads)
}

fn same_names<T, E>(sum: &Grads<T>, grads: &Grads<T>) -> Result<(), NativeError<E>> {
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
