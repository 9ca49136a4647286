//! Loss scaling in host memory: sets are `Vec<Named<Option<T>>>`.

use crate::{ClipGroup, GradOps, GradScaler, Loss, Norm, ScaleState, clip_factor};
use binade_core::{
    AmpTensor, DType, FoundInf, GradSet, HostDevice, HostDeviceError, HostParams, HostTensor,
    HostTypeError, MatchError, Named, NamedGrads, RawTensor, StaticSet, TensorSpec, TypedModel,
    check_same_parameters,
};
use std::sync::Arc;

type Result<T, V = ()> = std::result::Result<V, HostDeviceError<<T as AmpTensor>::Error>>;

impl<T: AmpTensor> Loss<HostDevice<T>> for T {
    type Error = HostDeviceError<T::Error>;

    fn scaled(&self, _: &HostDevice<T>, scale: &ScaleState) -> Result<T, T> {
        let before = elements(self)?;
        let scaled = AmpTensor::scaled(self, scale.factor())?;
        // The provided `scaled` writes to the result of `cast`.
        if elements(self)?
            .iter()
            .zip(&before)
            .all(|(now, before)| now.to_bits() == before.to_bits())
        {
            return Ok(scaled);
        }
        Err(HostDeviceError::Mismatch { parameter: "the loss".into(), why: ALIAS })
    }

    fn unscaled(&self, _: &HostDevice<T>, scale: &ScaleState) -> Result<T, T> {
        Ok(AmpTensor::scaled(self, scale.inverse())?)
    }
}

impl<P: StaticSet> Loss<TypedModel<P>> for f32 {
    type Error = HostDeviceError<HostTypeError>;

    fn scaled(&self, _: &TypedModel<P>, scale: &ScaleState) -> Result<HostTensor, f32> {
        Ok(self * scale.factor())
    }

    fn unscaled(&self, _: &TypedModel<P>, scale: &ScaleState) -> Result<HostTensor, f32> {
        Ok(self * scale.inverse())
    }
}

impl<T: AmpTensor> GradScaler for HostDevice<T> {
    fn unscale(&self, grads: &mut NamedGrads<T>, scale: &ScaleState) -> Result<T, FoundInf> {
        let mut found = FoundInf { halted: scale.diverged, ..FoundInf::default() };
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

impl<P: StaticSet> GradScaler for TypedModel<P> {
    fn unscale(
        &self,
        grads: &mut NamedGrads<HostTensor>,
        scale: &ScaleState,
    ) -> Result<HostTensor, FoundInf> {
        HostDevice::new().unscale(grads, scale)
    }
}

/// A device whose sets are lists of host tensors has this trait already.
impl<D, T> GradOps for D
where
    D: GradScaler<Scale = ScaleState>
        + GradSet<Grads = NamedGrads<T>, Found = FoundInf, Error = HostDeviceError<T::Error>>,
    D::Params: HostParams<T>,
    T: AmpTensor,
{
    fn clip_norm(
        &self,
        grads: &mut NamedGrads<T>,
        norm: Norm,
        max: f32,
        verdict: &mut FoundInf,
    ) -> Result<T> {
        positive("clip_norm", max)?;
        let total = self::norm(norm, grads.iter_mut().filter_map(|g| g.value.as_mut()));
        verdict.record_norm(total);
        let factor = clip_factor(total, max);
        if factor != 1.0 {
            each(grads, |x| x * factor);
        }
        Ok(())
    }

    fn clip_value(&self, grads: &mut NamedGrads<T>, max: f32) -> Result<T> {
        positive("clip_value", max)?;
        each(grads, |x| if x.is_nan() { x } else { x.clamp(-max, max) });
        Ok(())
    }

    fn accumulate(
        &self,
        sum: Option<NamedGrads<T>>,
        grads: NamedGrads<T>,
        found: &FoundInf,
    ) -> Result<T, NamedGrads<T>> {
        let bad = found.is_raised();
        let Some(mut sum) = sum else {
            return first(grads, bad);
        };
        check_same_parameters(names(&sum), names(&grads)).map_err(
            |MatchError { parameter, why }| HostDeviceError::Mismatch { parameter, why },
        )?;
        for (total, grad) in sum.iter_mut().zip(grads).filter(|_| !bad) {
            total.value = match (total.value.take(), grad.value) {
                (Some(so_far), Some(grad)) => Some(plus(so_far, &grad, &total.name)?),
                (None, Some(grad)) => Some(grad.cast(DType::F32)?),
                (so_far, None) => so_far,
            };
        }
        Ok(sum)
    }

    fn clip_groups(
        &self,
        grads: &mut NamedGrads<T>,
        groups: &[ClipGroup],
        verdict: &mut FoundInf,
    ) -> Result<T> {
        let places = ClipGroup::places(groups, grads.iter().map(|grad| &*grad.name));
        let places = places.map_err(HostDeviceError::Train)?;
        for (group, of) in groups.iter().enumerate() {
            let norm = self::norm(of.norm, members(grads, &places, group));
            verdict.check_norm(&of.norm_name(), norm);
            let factor = clip_factor(norm, of.max);
            if factor != 1.0 {
                members(grads, &places, group)
                    .for_each(|grad| grad.map_f32(&mut |_, x| x * factor));
            }
        }
        Ok(())
    }

    /// A tensor without a shape has one axis. Gradients are created from parameters, which know their shape.
    fn grad_specs(&self, params: &D::Params) -> Result<T, Vec<Named<TensorSpec>>> {
        let spec = |param: &Named<T>| {
            let spec = TensorSpec::new(DType::F32, [elements(&param.value)?.len()]);
            Ok(Named::new(param.name.clone(), spec))
        };
        params.tensors().iter().map(spec).collect()
    }

    fn save_grads(&self, grads: &NamedGrads<T>) -> Result<T, NamedGrads<RawTensor>> {
        let raw = |grad: &T| {
            let values = elements(&grad.clone().whole())?;
            let spec = TensorSpec::new(DType::F32, [values.len()]);
            Ok::<_, T::Error>(RawTensor::from_f32(spec, &values))
        };
        let one = |grad: &Named<Option<T>>| {
            let value = grad.value.as_ref().map(raw).transpose()?.flatten();
            Ok(Named::new(grad.name.clone(), value))
        };
        grads.iter().map(one).collect()
    }

    fn load_grads(
        &self,
        params: &D::Params,
        saved: &NamedGrads<RawTensor>,
    ) -> Result<T, NamedGrads<T>> {
        let params = params.tensors();
        let one = |saved: &Named<Option<RawTensor>>| {
            let param = params.iter().find(|param| param.name == saved.name);
            let grad = param.zip(saved.value.as_ref());
            let grad = grad.map(|(param, raw)| like(&param.value, raw)).transpose()?;
            Ok(Named::new(saved.name.clone(), grad))
        };
        saved.iter().map(one).collect()
    }

    fn save_rows(&self, grads: &NamedGrads<T>) -> Result<T, Vec<Named<Vec<u64>>>> {
        let rows = |grad: &Named<Option<T>>| {
            let rows = grad.value.as_ref()?.rows()?.iter().map(|row| *row as u64).collect();
            Some(Named::new(grad.name.clone(), rows))
        };
        Ok(grads.iter().filter_map(rows).collect())
    }

    fn load_rows(
        &self,
        mut grads: NamedGrads<T>,
        rows: &[Named<Vec<u64>>],
    ) -> Result<T, NamedGrads<T>> {
        for Named { name, value: rows } in rows {
            let own = grads.iter_mut().filter(|grad| grad.name == *name);
            for grad in own.filter_map(|grad| grad.value.as_mut()) {
                let extent = grad.shape().map(|shape| shape.first().copied().unwrap_or(0));
                let rows = rows.iter().map(|row| inside(*row, extent));
                *grad = grad.with_rows(&rows.collect::<Result<T, Vec<_>>>()?);
            }
        }
        Ok(grads)
    }
}

/// Returns a saved row as a row of a table of this extent: the gradient's form, of one axis, does not tell it.
fn inside<E>(row: u64, extent: Option<usize>) -> std::result::Result<usize, HostDeviceError<E>> {
    let place = usize::try_from(row).ok();
    #[expect(clippy::cast_precision_loss, reason = "a number that is shown")]
    let value = row as f64;
    let (what, expected) = ("row of a saved gradient sum", "rows of the table");
    place
        .filter(|place| extent.is_none_or(|extent| *place < extent))
        .ok_or(HostDeviceError::Invalid { what, value, expected })
}

const ALIAS: &str = "scaling it has changed it: `AmpTensor::cast` to its own type shares elements with it, and has to copy; a tensor that records gradients needs a `scaled` of its own too, by the library's multiplication";

/// Returns the elements, read from a cast, which copies: a clone may share them, and an autograd would see a write to them.
fn elements<T: AmpTensor>(tensor: &T) -> std::result::Result<Vec<f32>, T::Error> {
    let mut elements = Vec::new();
    tensor.cast(DType::F32)?.map_f32(&mut |_, x| {
        elements.push(x);
        x
    });
    Ok(elements)
}

fn like<T: AmpTensor>(param: &T, raw: &RawTensor) -> Result<T, T> {
    let mut grad = param.cast(DType::F32)?;
    let values = raw.to_f32().unwrap_or_default();
    grad.map_f32(&mut |i, x| values.get(i).copied().unwrap_or(x));
    Ok(grad)
}

/// The norm of all of `grads` together, in `f64`: enough for squares of 1e25 and for 64 M terms.
fn norm<'g, T: AmpTensor + 'g>(which: Norm, grads: impl Iterator<Item = &'g mut T>) -> f64 {
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

/// The gradients of a group.
fn members<'g, T: AmpTensor>(
    grads: &'g mut NamedGrads<T>,
    places: &'g [Option<usize>],
    group: usize,
) -> impl Iterator<Item = &'g mut T> {
    let own = grads.iter_mut().zip(places).filter(move |(_, place)| **place == Some(group));
    own.filter_map(|(grad, _)| grad.value.as_mut())
}

fn positive<E>(what: &'static str, max: f32) -> std::result::Result<(), HostDeviceError<E>> {
    if max > 0.0 {
        Ok(())
    } else {
        Err(HostDeviceError::Invalid { what, value: f64::from(max), expected: "a limit above 0" })
    }
}

fn each<T: AmpTensor>(grads: &mut NamedGrads<T>, mut f: impl FnMut(f32) -> f32) {
    for grad in grads.iter_mut().filter_map(|g| g.value.as_mut()) {
        grad.map_f32(&mut |_, x| f(x));
    }
}

/// The first gradients of a window in `f32`; none of them if they are bad, since zeros would decay and age parameters.
fn first<T: AmpTensor>(mut grads: NamedGrads<T>, bad: bool) -> Result<T, NamedGrads<T>> {
    for value in grads.iter_mut().map(|grad| &mut grad.value) {
        *value = match value.take() {
            Some(grad) if !bad => Some(grad.cast(DType::F32)?),
            _ => None,
        };
    }
    Ok(grads)
}

/// Returns the parameters' names, without shapes: `plus` compares shapes, and its error names them.
fn names<T>(set: &NamedGrads<T>) -> impl Iterator<Item = (&Arc<str>, Option<&[usize]>)> {
    set.iter().map(|grad| (&grad.name, None))
}

fn plus<T: AmpTensor>(mut total: T, grad: &T, name: &Arc<str>) -> Result<T, T> {
    HostDeviceError::same_shapes(name, grad, &total)?;
    let terms = match (total.rows(), grad.rows()) {
        (None, None) => elements(grad)?,
        (Some(rows), Some(more)) => {
            let rows = union([rows, more]);
            total = total.with_rows(&rows);
            elements(&grad.with_rows(&rows))?
        }
        _ => {
            total = total.whole();
            elements(&grad.clone().whole())?
        }
    };
    let mut length = 0;
    total.map_f32(&mut |_, x| {
        let term = terms.get(length);
        length += 1;
        term.map_or(x, |term| x + term)
    });
    if length == terms.len() {
        return Ok(total);
    }
    let why = "its gradient has another length than in earlier micro-batches";
    Err(HostDeviceError::Mismatch { parameter: name.clone(), why })
}

/// Returns the rows of both, in ascending order.
fn union(rows: [&[usize]; 2]) -> Vec<usize> {
    let mut all = rows.concat();
    all.sort_unstable();
    all.dedup();
    all
}
