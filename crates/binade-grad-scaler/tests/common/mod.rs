//! A host tensor and a pretend GPU of the tests' own, an optimizer for each, and one training step for both.
#![allow(unreachable_pub, reason = "all of it is within the test program")]

pub mod gpu;
pub mod host;
pub mod sgd;

use binade_core::{HostDevice, HostDeviceError, Named, Optimizer};
use binade_grad_scaler::{
    GradOps, Loss, LossScale, ScaledGrads, Scaler, Step, StepOutcome, UnscaledGrads,
};
use host::{Host, NoSuchType};
use sgd::Sgd;

pub type Grads = Vec<Named<Option<Host>>>;
pub type Failure = HostDeviceError<NoSuchType>;
pub type Result<T = ()> = std::result::Result<T, Failure>;
pub type HostScaler = Scaler<HostDevice<Host>>;
pub type Unscaled = UnscaledGrads<HostDevice<Host>>;

/// A set with one parameter, as most tests need.
pub type Set<'a> = &'a [(&'a str, &'a [f32])];

pub fn scaler(rule: LossScale) -> HostScaler {
    Scaler::new(HostDevice::new(), rule).expect("a host does not fail")
}

/// The loop's body, the same for a host and a device.
pub fn train_step<D, O, L>(
    scaler: &mut Scaler<D>,
    optimizer: &mut O,
    loss: &L,
    backward: impl FnOnce(&L) -> std::result::Result<D::Grads, D::Error>,
) -> std::result::Result<StepOutcome<D>, D::Error>
where
    D: GradOps,
    O: Optimizer<D::Grads, D::Found, Error = D::Error>,
    L: Loss<D, Error = D::Error>,
{
    let grads = scaler.scale(loss)?.backward(backward)?;
    let step = grads.unscale()?.clip_norm(1.0)?.step(optimizer)?;
    scaler.update(step)
}

/// The gradient of `sum(w * x)` by `w`, times what the loss was scaled by.
pub fn times(set: Set<'_>, factor: &Host) -> Grads {
    let grad = |(name, x): &(&str, &[f32])| {
        let scaled: Vec<_> = x.iter().map(|x| x * factor.data[0]).collect();
        Named::new(*name, Some(Host::f32(&scaled)))
    };
    set.iter().map(grad).collect()
}

/// Scaled gradients whose true values are `set`.
pub fn backward(scaler: &HostScaler, set: Set<'_>) -> Result<ScaledGrads<HostDevice<Host>>> {
    scaler.scale(&Host::f32(&[1.0]))?.backward(|factor| Ok(times(set, factor)))
}

/// Unscaled gradients whose true values are `set`.
pub fn unscaled(scaler: &HostScaler, set: Set<'_>) -> Result<Unscaled> {
    backward(scaler, set)?.unscale()
}

/// One whole iteration on the host, looked at.
pub fn iterate(scaler: &mut HostScaler, sgd: &mut Sgd, set: Set<'_>) -> Result<Step> {
    let step = unscaled(scaler, set)?.step(sgd)?;
    scaler.update(step)?.resolve()
}

/// The values that `grads` holds under its first name.
pub fn first(grads: &Grads) -> &[f32] {
    &grads[0].value.as_ref().expect("a gradient").data
}

/// Of a rule's public fields, those a test wants changed.
pub fn rule(change: impl FnOnce(&mut LossScale)) -> LossScale {
    let mut rule = LossScale::dynamic();
    change(&mut rule);
    rule
}
