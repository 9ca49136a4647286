//! Loss scaling for models whose element type is a type parameter: by way of what a host tensor has, once gradients are `f32`.

use crate::{ClipGroup, ClipGroups, GradOps, GradScaler, HostScale, Loss, Norm, ScaleState};
use binade_core::{Finding, NativeError, OnlyF32, OrderError, Static, StaticGrads, StaticSet};
use std::mem;

type Result<T> = std::result::Result<T, NativeError<OnlyF32>>;

impl<P: StaticSet> HostScale for Static<P> {}

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

    fn order_error(&self, error: OrderError) -> NativeError<OnlyF32> {
        NativeError::Order(error)
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
}

impl<P: StaticSet> ClipGroups for Static<P> {
    fn clip_groups(
        &self,
        grads: &mut StaticGrads<P>,
        groups: &[ClipGroup],
        verdict: &mut Finding,
    ) -> Result<()> {
        on_named(grads, |named| self.flat().clip_groups(named, groups, verdict))
    }
}

/// Does `what` to gradients in `f32`, and leaves them so.
fn on_named<P: StaticSet>(
    grads: &mut StaticGrads<P>,
    what: impl FnOnce(&mut binade_core::NamedGrads<binade_core::Flat>) -> Result<()>,
) -> Result<()> {
    let mut named = mem::replace(grads, StaticGrads::Unscaled(Vec::new())).into_named();
    let done = what(&mut named);
    *grads = StaticGrads::Unscaled(named);
    done
}
