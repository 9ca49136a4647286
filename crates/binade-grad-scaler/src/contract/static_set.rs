//! Loss scaling for models whose element type is a type parameter: by way of what a host tensor has, once gradients are `f32`.

use crate::{ClipGroup, GradOps, GradScaler, Loss, Norm, ScaleState};
use binade_core::{
    DType, F32Grad, FoundInf, HostDeviceError, Named, NamedGrads, OnlyF32, RawTensor, StaticGrads,
    StaticSet, TensorSpec, TypedModel,
};
use std::mem;

type Result<T> = std::result::Result<T, HostDeviceError<OnlyF32>>;

impl<P: StaticSet> Loss<TypedModel<P>> for f32 {
    type Error = HostDeviceError<OnlyF32>;

    fn scaled(&self, _: &TypedModel<P>, scale: &ScaleState) -> Result<f32> {
        Ok(self * scale.factor())
    }

    fn unscaled(&self, _: &TypedModel<P>, scale: &ScaleState) -> Result<f32> {
        Ok(self * scale.inverse())
    }
}

impl<P: StaticSet> GradScaler for TypedModel<P> {
    fn unscale(&self, grads: &mut StaticGrads<P>, scale: &ScaleState) -> Result<FoundInf> {
        let mut named = mem::replace(grads, StaticGrads::Unscaled(Vec::new())).into_named();
        let found = self.flat().unscale(&mut named, scale);
        *grads = StaticGrads::Unscaled(named);
        found
    }
}

impl<P: StaticSet> GradOps for TypedModel<P> {
    fn clip_norm(
        &self,
        grads: &mut StaticGrads<P>,
        norm: Norm,
        max: f32,
        verdict: &mut FoundInf,
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
        found: &FoundInf,
    ) -> Result<StaticGrads<P>> {
        let sum = sum.map(StaticGrads::into_named);
        Ok(StaticGrads::Unscaled(self.flat().accumulate(sum, grads.into_named(), found)?))
    }

    fn clip_groups(
        &self,
        grads: &mut StaticGrads<P>,
        groups: &[ClipGroup],
        verdict: &mut FoundInf,
    ) -> Result<()> {
        on_named(grads, |named| self.flat().clip_groups(named, groups, verdict))
    }

    /// Each gradient is of one axis.
    fn grad_specs(&self, params: &P) -> Result<Vec<Named<TensorSpec>>> {
        let mut params = params.clone();
        let spec = |slice: Named<&mut [P::Element]>| {
            Named::new(slice.name, TensorSpec::new(DType::F32, [slice.value.len()]))
        };
        Ok(params.slices().into_iter().map(spec).collect())
    }

    fn save_grads(&self, grads: &StaticGrads<P>) -> Result<NamedGrads<RawTensor>> {
        let raw = |Named { name, value }: Named<Option<F32Grad>>| {
            let raw = value.and_then(|F32Grad(values)| {
                RawTensor::from_f32(TensorSpec::new(DType::F32, [values.len()]), &values)
            });
            Named::new(name, raw)
        };
        Ok(grads.clone().into_named().into_iter().map(raw).collect())
    }

    fn load_grads(&self, _: &P, saved: &NamedGrads<RawTensor>) -> Result<StaticGrads<P>> {
        let flat = |saved: &Named<Option<RawTensor>>| {
            let values = saved.value.as_ref().and_then(RawTensor::to_f32);
            Named::new(saved.name.clone(), values.map(F32Grad))
        };
        Ok(StaticGrads::Unscaled(saved.iter().map(flat).collect()))
    }
}

/// Does `what` to gradients in `f32`, and leaves them so.
fn on_named<P: StaticSet>(
    grads: &mut StaticGrads<P>,
    what: impl FnOnce(&mut NamedGrads<F32Grad>) -> Result<()>,
) -> Result<()> {
    let mut named = mem::replace(grads, StaticGrads::Unscaled(Vec::new())).into_named();
    let done = what(&mut named);
    *grads = StaticGrads::Unscaled(named);
    done
}
