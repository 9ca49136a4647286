//! Scaling of losses, and inspection, clipping, sums and bytes of whole sets of gradients. The scale is the host's, and unscaling only
//! reads.

use super::clip_groups;
use crate::gradients::{Measured, inspect, supported, widened};
use crate::{Cpu, Error, Gradients, Tensor, parallel};
use binade_core::{
    DType, FoundInf, Named, NamedGrads, RawTensor, TensorSpec, check_same_parameters,
};
use binade_grad_scaler::{
    ClipGroup, GradOps, GradScaler, Loss, Norm, PeerDevice, ScaleState, ScaleStore,
};
use binade_master_weights::step::Factor;
use std::slice;

/// Loss of the CPU, and of devices that wrap the CPU.
impl<D: ScaleStore<Scale = ScaleState, Error: From<Error>>> Loss<D> for Tensor {
    type Error = D::Error;

    fn scaled(&self, _: &D, scale: &ScaleState) -> Result<Self, D::Error> {
        Ok(times(self, scale.factor())?)
    }

    fn unscaled(&self, _: &D, scale: &ScaleState) -> Result<Self, D::Error> {
        Ok(times(self, scale.inverse())?)
    }
}

impl GradScaler for Cpu {
    fn unscale(&self, grads: &mut Gradients, scale: &ScaleState) -> Result<FoundInf, Error> {
        if grads.factor != Factor::ONE {
            *grads = grads.apply_factors()?;
        }
        let (mut found, measured) = inspect(grads, scale.inverse())?;
        found.halted = scale.diverged;
        grads.factor.inverse = scale.inverse();
        grads.measured = Some(measured);
        Ok(found)
    }
}

impl GradOps for Cpu {
    fn clip_norm(
        &self,
        grads: &mut Gradients,
        norm: Norm,
        max: f32,
        verdict: &mut FoundInf,
    ) -> Result<(), Error> {
        Self::clip_norms(&[*self], slice::from_mut(grads), (norm, max), slice::from_mut(verdict))
    }

    fn clip_value(&self, grads: &mut Gradients, max: f32) -> Result<(), Error> {
        positive("clip_value", max)?;
        *grads = grads.apply_factors()?;
        for tensor in grads.entries.iter_mut().filter_map(|entry| entry.value.as_mut()) {
            // `clamp` keeps a NaN.
            each(tensor, |x| x.clamp(-max, max));
        }
        Ok(())
    }

    fn accumulate(
        &self,
        sum: Option<Gradients>,
        grads: Gradients,
        found: &FoundInf,
    ) -> Result<Gradients, Error> {
        let bad = found.is_raised();
        let Some(sum) = sum else {
            return if bad { Ok(none_of(grads)) } else { grads.begun() };
        };
        grads.check_rows()?;
        check_same_parameters(sum.shapes(), grads.shapes())?;
        // A sum that was clipped, or not summed before, may be other than plain f32.
        let mut sum = sum.apply_factors()?;
        if bad {
            return Ok(sum);
        }
        for place in 0..sum.entries.len() {
            sum.add(place, &grads)?;
        }
        Ok(sum)
    }

    fn clip_groups(
        &self,
        grads: &mut Gradients,
        groups: &[ClipGroup],
        verdict: &mut FoundInf,
    ) -> Result<(), Error> {
        clip_groups::clip(grads, groups, verdict)
    }

    fn grad_specs(&self, params: &Vec<Named<Tensor>>) -> Result<Vec<Named<TensorSpec>>, Error> {
        let spec = |param: &Named<Tensor>| {
            Named::new(param.name.clone(), TensorSpec::new(DType::F32, param.value.shape()))
        };
        Ok(params.iter().map(spec).collect())
    }

    fn save_grads(&self, grads: &Gradients) -> Result<NamedGrads<RawTensor>, Error> {
        let raw = |grad: Named<Option<Tensor>>| Named {
            name: grad.name,
            value: grad.value.as_ref().map(RawTensor::from),
        };
        Ok(grads.materialised()?.into_iter().map(raw).collect())
    }

    fn load_grads(
        &self,
        _params: &Vec<Named<Tensor>>,
        saved: &NamedGrads<RawTensor>,
    ) -> Result<Gradients, Error> {
        let tensor = |saved: &Named<Option<RawTensor>>| {
            let value = saved.value.as_ref().map(Tensor::try_from).transpose()?;
            Ok(Named { name: saved.name.clone(), value })
        };
        Ok(saved.iter().map(tensor).collect::<Result<Vec<_>, Error>>()?.into())
    }

    fn save_rows(&self, grads: &Gradients) -> Result<Vec<Named<Vec<u64>>>, Error> {
        Ok(grads.saved_rows())
    }

    fn load_rows(&self, grads: Gradients, rows: &[Named<Vec<u64>>]) -> Result<Gradients, Error> {
        grads.with_rows(rows)
    }
}

/// Returns `tensor` in `f32`, times `factor`.
fn times(tensor: &Tensor, factor: f32) -> Result<Tensor, Error> {
    let mut product = tensor.cast(DType::F32)?;
    each(&mut product, |x| x * factor);
    Ok(product)
}

/// Replaces each element `x` of an `f32` tensor by `f(x)`.
pub(crate) fn each(tensor: &mut Tensor, f: impl Fn(f32) -> f32 + Sync) {
    parallel::blocks(tensor.as_mut_slice().unwrap_or_default(), |_, block| {
        for x in block {
            *x = f(*x);
        }
    });
}

/// Returns the sizes of `grads`, from the unscaling pass if the gradients have not changed since.
pub(super) fn measure(grads: &mut Gradients) -> Result<Measured, Error> {
    match grads.measured {
        Some(measured) if grads.factor.clip == 1.0 => Ok(measured),
        _ => {
            // The size of clipped values is measured once they are rounded.
            if grads.factor.clip != 1.0 {
                *grads = grads.apply_factors()?;
            }
            let measured = inspect(grads, grads.factor.inverse)?.1;
            grads.measured = Some(measured);
            Ok(measured)
        }
    }
}

pub(super) fn positive(what: &'static str, max: f32) -> Result<(), Error> {
    if max > 0.0 { Ok(()) } else { Err(Error::Limit { what, value: max }) }
}

/// Returns the parameters without gradients. Zeros would not do: they decay and age a parameter.
fn none_of(grads: Gradients) -> Gradients {
    let without = |entry: Named<_>| Named { name: entry.name, value: None };
    grads.entries.into_iter().map(without).collect::<Vec<_>>().into()
}

/// Adds `grad`, times both factors, to `total`, which is f32.
pub(crate) fn add(total: &mut Tensor, grad: &Tensor, factor: Factor) -> Result<(), Error> {
    supported(grad, "add gradients of")?;
    parallel::blocks(total.as_mut_slice::<f32>().unwrap_or_default(), |first, sums| {
        widened(grad, first..first + sums.len(), |at, terms| {
            let sums = sums[at - first..].iter_mut().zip(terms);
            sums.for_each(|(sum, term)| *sum += factor.apply(*term));
        });
    });
    Ok(())
}
