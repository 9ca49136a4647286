//! Clipping and adding whole sets of gradients.

use crate::gradients::{Measured, inspect};
use crate::{Cpu, Error, Gradients, Tensor};
use binade_core::{Finding, Named};
use binade_grad_scaler::{GradOps, Norm, clip_factor, record_norm};
use std::sync::Arc;

impl GradOps for Cpu {
    fn clip_norm(
        &self,
        grads: &mut Gradients,
        norm: Norm,
        max: f32,
        verdict: &mut Finding,
    ) -> Result<(), Error> {
        positive("clip_norm", max)?;
        let measured = measure(grads)?;
        let norm = match norm {
            Norm::L2 => measured.squares.sqrt(),
            Norm::Infinity => f64::from(measured.largest),
        };
        record_norm(verdict, norm);
        grads.factor.clip = clip_factor(norm, max);
        Ok(())
    }

    fn clip_value(&self, grads: &mut Gradients, max: f32) -> Result<(), Error> {
        positive("clip_value", max)?;
        *grads = grads.settled()?;
        for values in grads.entries.iter_mut().filter_map(|entry| entry.value.as_mut()) {
            let values = values.as_mut_slice::<f32>().unwrap_or_default();
            // Not `f32::min`, which would turn a NaN into the limit.
            values.iter_mut().filter(|x| x.abs() > max).for_each(|x| *x = max.copysign(*x));
        }
        Ok(())
    }

    fn accumulate(
        &self,
        sum: Option<Gradients>,
        grads: Gradients,
        found: &Finding,
    ) -> Result<Gradients, Error> {
        let bad = found.is_raised();
        let grads = grads.settled()?;
        let Some(mut sum) = sum else {
            return Ok(if bad { zeros(grads) } else { grads });
        };
        agree(&sum, &grads)?;
        sum.measured = None;
        for (total, grad) in sum.entries.iter_mut().zip(grads.entries).filter(|_| !bad) {
            total.value = match (total.value.take(), grad.value) {
                (Some(so_far), Some(grad)) => Some(plus(so_far, &grad)),
                (one, other) => one.or(other),
            };
        }
        Ok(sum)
    }
}

/// The sizes of `grads`, from the pass that unscaled them where there was one and nothing has changed since.
fn measure(grads: &mut Gradients) -> Result<Measured, Error> {
    match grads.measured {
        Some(measured) if grads.factor.clip == 1.0 => Ok(measured),
        _ => {
            *grads = grads.settled()?;
            let measured = inspect(grads, 1.0)?.1;
            grads.measured = Some(measured);
            Ok(measured)
        }
    }
}

fn positive(what: &'static str, max: f32) -> Result<(), Error> {
    if max > 0.0 { Ok(()) } else { Err(Error::Limit { what, value: max }) }
}

fn zeros(mut grads: Gradients) -> Gradients {
    for values in grads.entries.iter_mut().filter_map(|entry| entry.value.as_mut()) {
        values.as_mut_slice::<f32>().unwrap_or_default().fill(0.0);
    }
    grads
}

fn plus(mut total: Tensor, grad: &Tensor) -> Tensor {
    let terms = grad.as_slice::<f32>().unwrap_or_default();
    let sums = total.as_mut_slice::<f32>().unwrap_or_default();
    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
    total
}

/// Both sets list the same parameters in the same order, of the same shapes where both have one.
fn agree(sum: &Gradients, grads: &Gradients) -> Result<(), Error> {
    let pairs = sum.entries.iter().zip(&grads.entries);
    let differs = pairs.clone().find(|(a, b)| a.name != b.name || !alike(a, b)).map(|(_, b)| b);
    let longer = grads.entries.get(sum.entries.len()).or(sum.entries.get(grads.entries.len()));
    match differs.or(longer) {
        None => Ok(()),
        Some(entry) => Err(mismatch(
            &entry.name,
            "micro-batches of one window must list the same parameters, of the same shapes, in the same order",
        )),
    }
}

fn alike(a: &Named<Option<Tensor>>, b: &Named<Option<Tensor>>) -> bool {
    a.value.as_ref().zip(b.value.as_ref()).is_none_or(|(a, b)| a.shape() == b.shape())
}

fn mismatch(parameter: &Arc<str>, why: &'static str) -> Error {
    Error::Parameter { parameter: parameter.clone(), why }
}
