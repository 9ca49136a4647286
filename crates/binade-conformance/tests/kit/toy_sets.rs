//! The toy's clipping, accumulation and stochastic rounding, as one would first write them down.

use crate::toy::{Plain, Toy};
use binade_conformance::{Clip, MicroBatch, Refusal, Subject, Unscaled};
use binade_core::cast::OnOverflow::NonFinite;
use binade_core::stochastic::{self, Key};
use binade_core::{DType, ErrorKind, Named, NamedGrads};
use binade_grad_scaler::{Norm, ScaleState, clip_factor, record_norm};

/// The norm of gradients in f32, in f64.
pub(crate) fn norm(grads: &NamedGrads<Plain>, which: Norm) -> f64 {
    let values = grads.iter().filter_map(|grad| grad.value.as_ref()).flat_map(Plain::read);
    let values = values.map(f64::from);
    match which {
        Norm::L2 => values.map(|x| x * x).sum::<f64>().sqrt(),
        Norm::Infinity => {
            values.map(f64::abs).fold(0.0, |a, b| if a >= b { a } else { b + 0.0 * a })
        }
    }
}

/// Every element of gradients in f32 replaced.
pub(crate) fn each(grads: &mut NamedGrads<Plain>, f: impl Fn(f32) -> f32) {
    for grad in grads.iter_mut().filter_map(|grad| grad.value.as_mut()) {
        let values: Vec<f32> = grad.read().into_iter().map(&f).collect();
        *grad = Plain::write(&values, DType::F32, &grad.shape);
    }
}

pub(crate) fn clip(
    grads: NamedGrads<Plain>,
    scale: ScaleState,
    clip: Clip,
) -> Result<Unscaled<Plain>, Refusal> {
    let (Clip::Norm(_, max) | Clip::Value(max)) = clip;
    if max.is_nan() || max <= 0.0 {
        return Err(Refusal::Rejected(ErrorKind::InvalidArgument, format!("a limit of {max}")));
    }
    let Unscaled { mut grads, mut found } = Toy.unscale(grads, scale)?;
    match clip {
        Clip::Norm(which, max) => {
            let norm = norm(&grads, which);
            record_norm(&mut found, norm);
            let factor = clip_factor(norm, max);
            each(&mut grads, |x| x * factor);
        }
        Clip::Value(max) => each(&mut grads, |x| x.clamp(-max, max)),
    }
    Ok(Unscaled { grads, found })
}

pub(crate) fn accumulate(window: Vec<MicroBatch<Plain>>) -> Result<NamedGrads<Plain>, Refusal> {
    let mut sums: NamedGrads<Plain> = Vec::new();
    for MicroBatch { grads, scale } in window {
        let Unscaled { grads, found } = Toy.unscale(grads, scale)?;
        if sums.is_empty() {
            sums = grads.iter().map(|g| Named { name: g.name.clone(), value: None }).collect();
        }
        agree(&sums, &grads)?;
        if !found.is_raised() {
            sums.iter_mut().zip(grads).for_each(|(sum, grad)| add(sum, grad.value));
        }
    }
    Ok(sums)
}

/// Sets list the same parameters, of the same lengths where both have a gradient.
fn agree(sums: &NamedGrads<Plain>, grads: &NamedGrads<Plain>) -> Result<(), Refusal> {
    let alike = |(a, b): (&Named<Option<Plain>>, &Named<Option<Plain>>)| {
        let lengths =
            a.value.as_ref().zip(b.value.as_ref()).is_none_or(|(a, b)| a.shape == b.shape);
        a.name == b.name && lengths
    };
    if sums.len() == grads.len() && sums.iter().zip(grads).all(alike) {
        return Ok(());
    }
    Err(Refusal::Rejected(ErrorKind::Mismatch, "sets differ".to_owned()))
}

fn add(sum: &mut Named<Option<Plain>>, grad: Option<Plain>) {
    sum.value = match (sum.value.take(), grad) {
        (Some(sum), Some(grad)) => {
            let terms = sum.read().into_iter().zip(grad.read());
            let values: Vec<f32> = terms.map(|(a, b)| a + b).collect();
            Some(Plain::write(&values, DType::F32, &sum.shape))
        }
        (sum, grad) => sum.or(grad),
    };
}

/// Rounds each element by the word that `bits` gives for its index.
pub(crate) fn cast_stochastic(tensor: &Plain, to: DType, bits: impl Fn(u64) -> u32) -> Plain {
    let rounded = |(x, index)| stochastic::round(x, to, bits(index), NonFinite).unwrap_or(x);
    let values: Vec<f32> = tensor.read().into_iter().zip(0..).map(rounded).collect();
    Plain::write(&values, to, &tensor.shape)
}

/// The word of an element.
pub(crate) fn word(key: Key) -> impl Fn(u64) -> u32 {
    move |index| stochastic::bits(key, index)
}
