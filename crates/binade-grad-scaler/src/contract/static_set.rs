//! Loss scaling for models whose element type is a type parameter: by way of what a host tensor has, once gradients are `f32`.

use crate::{ClipGroup, GradOps, GradScaler, Loss, Norm, ScaleState};
use binade_core::{
    DType, Finding, Flat, Form, Named, NamedGrads, NativeError, OnlyF32, RawTensor, Static,
    StaticGrads, StaticSet,
};
use std::mem;

type Result<T> = std::result::Result<T, NativeError<OnlyF32>>;

impl<P: StaticSet> Loss<Static<P>> for f32 {
    type Error = NativeError<OnlyF32>;

    fn scaled(&self, _: &Static<P>, scale: &ScaleState) -> Result<f32> {
        Ok(self * scale.factor())
    }

    fn unscaled(&self, _: &Static<P>, scale: &ScaleState) -> Result<f32> {
        Ok(self * scale.inverse())
    }
}

impl<P: StaticSet> GradScaler for Static<P> {
    fn unscale(&self, grads: &mut StaticGrads<P>, scale: &ScaleState) -> Result<Finding> {
        let mut named = mem::replace(grads, StaticGrads::Unscaled(Vec::new())).into_named();
        let found = self.flat().unscale(&mut named, scale);
        *grads = StaticGrads::Unscaled(named);
        found
    }
}

impl<P: StaticSet> GradOps for Static<P> {
    fn clip_norm(
        &self,
        grads: &mut StaticGrads<P>,
        norm: Norm,
        max: f32,
        verdict: &mut Finding,
    ) -> Result<()> {
        on_named(grads, |named| self.flat().clip_norm(named, norm, max, verdict))
    }

    fn clip_value(&self, grads: &mut StaticGrads<P>, max: f32) -> Result<()> {
        on_named(grads, |named| self.flat().clip_value(named, max))
    }

    fn accumulate(
        &self,
        sum: Option<StaticGrads<P>>,
        grads: StaticGrads<P>,
        found: &Finding,
    ) -> Result<StaticGrads<P>> {
        let sum = sum.map(StaticGrads::into_named);
        Ok(StaticGrads::Unscaled(self.flat().accumulate(sum, grads.into_named(), found)?))
    }

    fn clip_groups(
        &self,
        grads: &mut StaticGrads<P>,
        groups: &[ClipGroup],
        verdict: &mut Finding,
    ) -> Result<()> {
        on_named(grads, |named| self.flat().clip_groups(named, groups, verdict))
    }

    /// Each gradient is of one axis.
    fn grad_forms(&self, params: &P) -> Result<Vec<Named<Form>>> {
        let mut params = params.clone();
        let form = |slice: Named<&mut [P::Element]>| {
            Named::new(slice.name, Form::new(DType::F32, [slice.value.len()]))
        };
        Ok(params.slices().into_iter().map(form).collect())
    }

    fn save_grads(&self, grads: &StaticGrads<P>) -> Result<NamedGrads<RawTensor>> {
        let raw = |Named { name, value }: Named<Option<Flat>>| {
            let raw = value.and_then(|Flat(values)| {
                RawTensor::from_f32(Form::new(DType::F32, [values.len()]), &values)
            });
            Named::new(name, raw)
        };
        Ok(grads.clone().into_named().into_iter().map(raw).collect())
    }

    fn load_grads(&self, _: &P, saved: &NamedGrads<RawTensor>) -> Result<StaticGrads<P>> {
        let flat = |saved: &Named<Option<RawTensor>>| {
            let values = saved.value.as_ref().and_then(RawTensor::to_f32);
            Named::new(saved.name.clone(), values.map(Flat))
        };
        Ok(StaticGrads::Unscaled(saved.iter().map(flat).collect()))
    }
}

/// Does `what` to gradients in `f32`, and leaves them so.
fn on_named<P: StaticSet>(
    grads: &mut StaticGrads<P>,
    what: impl FnOnce(&mut NamedGrads<Flat>) -> Result<()>,
) -> Result<()> {
    let mut named = mem::replace(grads, StaticGrads::Unscaled(Vec::new())).into_named();
    let done = what(&mut named);
    *grads = StaticGrads::Unscaled(named);
    done
}
