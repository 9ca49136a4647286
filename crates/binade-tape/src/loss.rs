//! Losses on a tape, as a scaler scales them.

use crate::{
    Device, Var,
    ops::{Failed, Outcome, Saves},
};
use binade_core::{Handle, Op, OpClass};
use binade_grad_scaler::{Loss, ScaleStore};

const SCALE: Op = Op::custom("scale", OpClass::Pointwise);
const UNSCALE: Op = Op::custom("unscale", OpClass::Pointwise);

impl<D> Loss<D> for Var<D>
where
    D: Device + ScaleStore<Scale: Send + Sync + 'static>,
    D::Tensor: Loss<D, Error = D::Error>,
{
    type Error = Failed<D>;

    /// Records `x·S`. Since d(x·S)/dx = S, backward scales the gradient by the same scale, even if the scaler has moved since.
    fn scaled(&self, device: &D, scale: &D::Scale) -> Outcome<D> {
        recorded(self, SCALE, device, scale, Loss::scaled)
    }

    fn unscaled(&self, device: &D, scale: &D::Scale) -> Outcome<D> {
        recorded(self, UNSCALE, device, scale, Loss::unscaled)
    }
}

/// Product or quotient of a tensor and a scale.
type Change<D> = fn(
    &<D as Handle>::Tensor,
    &D,
    &<D as ScaleStore>::Scale,
) -> Result<<D as Handle>::Tensor, <D as Handle>::Error>;

/// Records `change`, which is linear, and so its own derivative.
fn recorded<D>(var: &Var<D>, op: Op, device: &D, scale: &D::Scale, change: Change<D>) -> Outcome<D>
where
    D: Device + ScaleStore<Scale: Send + Sync + 'static>,
{
    let [x] = var.seen(op, [var])?;
    let output = change(&x.tensor, device, scale)?;
    let scale = scale.clone();
    let rule = move |device: &D, grad: &D::Tensor| Ok(vec![Some(change(grad, device, &scale)?)]);
    Ok(var.push(op, &[&x], &Saves::Nothing, output, rule))
}
