//! Scaling is recorded; everything on whole sets is the device's.

use super::Taped;
use crate::{
    Device, TapeError, Var,
    ops::{Failed, Outcome, Saves, all},
};
use binade_core::{Handle, Op, OpClass, OrderError};
use binade_grad_scaler::{ClipGroup, ClipGroups, GradOps, GradScaler, Norm, ScaleStore};

const SCALE: Op = Op::custom("scale", OpClass::Pointwise);
const UNSCALE: Op = Op::custom("unscale", OpClass::Pointwise);

impl<D> GradScaler for Taped<D>
where
    D: Device + GradScaler<Scale: Send + Sync + 'static>,
{
    /// d(x·S)/dx = S, so that backward scales the gradient by the same scale, whatever became of the scaler since.
    fn scale(&self, var: &Var<D>, scale: &D::Scale) -> Outcome<D> {
        recorded(var, SCALE, scale, D::scale)
    }

    fn unscale_tensor(&self, var: &Var<D>, scale: &D::Scale) -> Outcome<D> {
        recorded(var, UNSCALE, scale, D::unscale_tensor)
    }

    fn unscale(&self, grads: &mut D::Grads, scale: &D::Scale) -> Result<D::Found, Failed<D>> {
        Ok(self.0.unscale(grads, scale)?)
    }

    fn order_error(&self, error: OrderError) -> Failed<D> {
        TapeError::Device(self.0.order_error(error))
    }
}

/// What a device does to a tensor with a scale.
type Change<D> = fn(
    &D,
    &<D as Handle>::Tensor,
    &<D as ScaleStore>::Scale,
) -> Result<<D as Handle>::Tensor, <D as Handle>::Error>;

/// `change` is linear, and so its own derivative.
fn recorded<D>(var: &Var<D>, op: Op, scale: &D::Scale, change: Change<D>) -> Outcome<D>
where
    D: Device + GradScaler<Scale: Send + Sync + 'static>,
{
    let [x] = var.seen(op, [var])?;
    let output = change(var.tape().device(), &x.tensor, scale)?;
    let scale = scale.clone();
    let rule = move |device: &D, grad: &D::Tensor| Ok(all([change(device, grad, &scale)?]));
    Ok(var.push(op, &[&x], &Saves::Nothing, output, rule))
}

impl<D> GradOps for Taped<D>
where
    D: Device + GradOps<Scale: Send + Sync + 'static>,
{
    fn clip_norm(
        &self,
        grads: &mut D::Grads,
        norm: Norm,
        max: f32,
        verdict: &mut D::Found,
    ) -> Result<(), Failed<D>> {
        Ok(self.0.clip_norm(grads, norm, max, verdict)?)
    }

    fn clip_value(&self, grads: &mut D::Grads, max: f32) -> Result<(), Failed<D>> {
        Ok(self.0.clip_value(grads, max)?)
    }

    fn accumulate(
        &self,
        sum: Option<D::Grads>,
        grads: D::Grads,
        found: &D::Found,
    ) -> Result<D::Grads, Failed<D>> {
        Ok(self.0.accumulate(sum, grads, found)?)
    }
}

impl<D> ClipGroups for Taped<D>
where
    D: Device + ClipGroups<Scale: Send + Sync + 'static>,
{
    fn clip_groups(
        &self,
        grads: &mut D::Grads,
        groups: &[ClipGroup],
        verdict: &mut D::Found,
    ) -> Result<(), Failed<D>> {
        Ok(self.0.clip_groups(grads, groups, verdict)?)
    }
}
