//! Passes over unscaled gradients: sums of a window, gradients written whole, and clips by group.

use super::{
    Result, data, passes,
    row::{Kind, What},
    work::Turns,
};
use binade_core::{DType, GradSet};
use binade_cuda::{Cuda, Found, Gradients, Tensor};
use binade_grad_scaler::{ClipGroup, GradOps, GradScaler, Norm, ScaleState, ScaleStore};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Pass {
    /// Adds the gradients to a sum in `f32`.
    Accumulate,
    /// Writes the gradients in `f32`, unscaled.
    Materialise,
    /// Measures one group of all gradients, and writes them clipped.
    ClipGroups,
}

/// Gradients, their findings, and the sum that they are added to.
pub(crate) struct Unscaled {
    set: Gradients,
    found: Found,
    sum: Option<Gradients>,
}

/// Returns a pass over each of these sets.
pub(crate) fn pass(
    cuda: &Cuda,
    sets: Vec<Vec<Tensor>>,
    pass: Pass,
) -> Result<Turns<'_, Unscaled, Option<Gradients>>> {
    let scale = cuda.upload_state(ScaleState::from_exponent(16))?;
    let one = |tensors| {
        let mut set = data::gradients(tensors);
        let found = cuda.unscale(&mut set, &scale)?;
        Ok(Unscaled { set, found, sum: None })
    };
    let sets = sets.into_iter().map(one).collect::<Result<Vec<_>>>()?;
    let names = sets.first().into_iter().flat_map(|it| it.set.as_stored());
    let group = ClipGroup::new(names.map(|entry| entry.name.to_string()), Norm::L2, 1.0);
    Ok(Turns::new(what(pass, &sets), sets, move |Unscaled { set, found, sum }| match pass {
        Pass::Accumulate => {
            *sum = Some(cuda.accumulate(sum.take(), set.clone(), found)?);
            Ok(None)
        }
        Pass::Materialise => Ok(Some(cuda.materialise(set.clone())?.into())),
        Pass::ClipGroups => {
            let (mut clipped, mut verdict) = (set.clone(), found.clone());
            cuda.clip_groups(&mut clipped, std::slice::from_ref(&group), &mut verdict)?;
            Ok(Some(clipped))
        }
    }))
}

fn what(pass: Pass, sets: &[Unscaled]) -> What {
    let of = sets.first().map_or((DType::F32, 0, 0), |it| passes::size_of(&it.set));
    let gradient = of.0.bytes();
    // Bytes an element, and those of a tensor's rows in the kernels' tables.
    let (name, kind, bytes, row) = match pass {
        Pass::Accumulate => ("accumulate", Kind::InPlace, gradient + 4 + 4, 56),
        Pass::Materialise => ("materialise", Kind::Copy, gradient + 4, 48),
        Pass::ClipGroups => ("clip by groups", Kind::Copy, 2 * gradient + 4, 40 + 48),
    };
    What::moving("gradients", name, kind, of, [bytes * of.1, row * of.2])
}
