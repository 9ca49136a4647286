//! Scalers of host tensors and what a test does with them.

#![allow(unreachable_pub, reason = "all of it is within the test program")]

pub mod remote;
pub mod sgd;

use binade_core::{AmpTensor as _, DType, HostDevice, HostDeviceError, HostTypeError, NamedGrads};
use binade_core::{Named, Optimizer};
use binade_grad_scaler::{BadMicroBatch, LossScale, ScaledGrads, Scaler, Step, UnscaledGrads};
use sgd::Sgd;

pub use binade_core::HostTensor as Host;

pub type Grads = NamedGrads<Host>;
pub type Failure = HostDeviceError<HostTypeError>;
pub type Result<T = ()> = std::result::Result<T, Failure>;
pub type HostScaler = Scaler<HostDevice<Host>>;
pub type Unscaled = UnscaledGrads<HostDevice<Host>>;

/// A set with one parameter, as most tests need.
pub type Set<'a> = &'a [(&'a str, &'a [f32])];

pub fn host(dtype: DType, data: &[f32]) -> Host {
    f32s(data).cast(dtype).expect("a type of host tensors")
}

pub fn f32s(data: &[f32]) -> Host {
    data.to_vec().into()
}

/// Returns the gradient of the parameter `w` alone.
pub fn w(data: &[f32]) -> Grads {
    vec![Named::new("w", Some(f32s(data)))]
}

pub fn scaler(rule: LossScale) -> HostScaler {
    Scaler::new(HostDevice::new(), rule).expect("a host does not fail")
}

/// The default rule's scaler, and an optimizer of the parameter `w` of one element.
pub fn pair() -> (HostScaler, Sgd) {
    (scaler(LossScale::dynamic()), Sgd::new(&[("w", &[1.0])]))
}

/// The gradient of `sum(w * x)` by `w`, times what the loss was scaled by.
pub fn times(set: Set<'_>, factor: &Host) -> Grads {
    let factor = factor.to_f32()[0];
    let scaled = |x: &[f32]| f32s(&x.iter().map(|x| x * factor).collect::<Vec<_>>());
    set.iter().map(|(name, x)| Named::new(*name, Some(scaled(x)))).collect()
}

/// Scaled gradients whose true values are `set`.
pub fn backward(scaler: &HostScaler, set: Set<'_>) -> Result<ScaledGrads<HostDevice<Host>>> {
    scaler.scale(&f32s(&[1.0]))?.backward(|factor| Ok(times(set, factor)))
}

/// Unscaled gradients whose true values are `set`.
pub fn unscaled(scaler: &HostScaler, set: Set<'_>) -> Result<Unscaled> {
    backward(scaler, set)?.unscale()
}

/// Sum of micro-batches whose gradients of `w` are `batches`.
pub fn window(scaler: &HostScaler, bad: BadMicroBatch, batches: &[f32]) -> Result<Unscaled> {
    let mut window = scaler.accumulate(bad);
    for &x in batches {
        window.add(unscaled(scaler, &[("w", &[x])])?)?;
    }
    Ok(window.finish()?.expect("a batch"))
}

/// Ends an iteration on the host with a step, and looks at it.
pub fn finish<O>(grads: Unscaled, scaler: &mut HostScaler, optimizer: &mut O) -> Result<Step>
where
    O: Optimizer<Grads, binade_core::FoundInf, Error = Failure>,
{
    let step = grads.step(optimizer)?;
    scaler.update(step)?.resolve()
}

/// One whole iteration on the host, looked at.
pub fn iterate(scaler: &mut HostScaler, sgd: &mut Sgd, set: Set<'_>) -> Result<Step> {
    finish(unscaled(scaler, set)?, scaler, sgd)
}

/// The values that `grads` holds under its first name.
pub fn first(grads: &Grads) -> Vec<f32> {
    grads[0].value.as_ref().expect("a gradient").to_f32()
}

/// Names of the parts of a step in which something was found.
pub fn bad_parts(step: &Step) -> Vec<&str> {
    let parts = step.report().steps.iter().flat_map(|s| &s.parts);
    parts.filter(|p| p.finding.is_raised()).map(|p| p.name.as_str()).collect()
}

/// Of a rule's public fields, those a test wants changed.
pub fn rule(change: impl FnOnce(&mut LossScale)) -> LossScale {
    let mut rule = LossScale::dynamic();
    change(&mut rule);
    rule
}
