//! A subject's operations by way of the traits that users call.
//!
//! [`Device`] takes them all at once; a device that lacks a trait implements [`Subject`] over the functions it can call.

mod blanket;
mod device;
mod loops;
mod sets;
mod stages;

pub use device::{Device, Trains};
pub use loops::{delayed, follow, sparse, update_each};
pub use sets::{accumulate, clip, clip_groups, norm};
pub use stages::{iterate, merge};

use crate::{OpInvocation, Pass, Refusal, Round, Subject, Turn, Unscaled};
use binade_core::{DType, Finding, Handle, Named, NamedGrads};
use binade_grad_scaler::{GradOps, GradScaler, Join, Loss, LossScale, ScaleState, ScaleStore};
use binade_master_weights::{MasterStore, MasterWeights, Plan};
use binade_ops::Ops;

/// [`Subject::compute`] by the traits of [`Ops`].
///
/// # Errors
///
/// The device's, and [`Refusal::Failed`] for operands of another number than the operation takes.
pub fn compute<D: Ops + Handle<Tensor: Clone>>(
    device: &D,
    call: &OpInvocation,
    operands: &[&D::Tensor],
) -> Result<Vec<D::Tensor>, Refusal> {
    let count = operands.len();
    let done = call.run(device, operands);
    Ok(done.ok_or_else(|| missing(&format!("{call:?} does not take {count} operands")))??)
}

/// [`Subject::scale`] by [`Loss::scaled`].
///
/// # Errors
///
/// The device's.
pub fn scale<D: ScaleStore, L: Loss<D>>(
    device: &D,
    tensor: &L,
    scale: ScaleState,
) -> Result<L, Refusal> {
    Ok(tensor.scaled(device, &device.upload_state(scale)?)?)
}

/// [`Subject::unscale_tensor`] by [`Loss::unscaled`].
///
/// # Errors
///
/// The device's.
pub fn unscale_tensor<D: ScaleStore, L: Loss<D>>(
    device: &D,
    tensor: &L,
    scale: ScaleState,
) -> Result<L, Refusal> {
    Ok(tensor.unscaled(device, &device.upload_state(scale)?)?)
}

/// [`Subject::unscale`] by [`GradScaler::unscale`].
///
/// # Errors
///
/// The device's.
pub fn unscale<D>(
    device: &D,
    grads: NamedGrads<D::Tensor>,
    scale: ScaleState,
) -> Result<Unscaled<D::Tensor>, Refusal>
where
    D: GradScaler<Grads: From<NamedGrads<D::Tensor>>>,
{
    let mut grads = D::Grads::from(grads);
    let scale = device.upload_state(scale)?;
    let found = device.unscale(&mut grads, &scale)?;
    let found = read(device, &found, &scale)?;
    Ok(Unscaled { grads: device.materialise(grads)?, found })
}

/// [`Subject::update_scale`] by [`ScaleStore::update`], with findings of gradients of that size, raised by an infinity beside them.
///
/// # Errors
///
/// The device's.
pub fn update_scale<S, D>(
    subject: &S,
    device: &D,
    rule: &LossScale,
    scale: ScaleState,
    round: &Round,
) -> Result<ScaleState, Refusal>
where
    S: Subject<Tensor = D::Tensor>,
    D: GradScaler<Grads: From<NamedGrads<D::Tensor>>>,
{
    let flags = |passes: &[Pass]| {
        passes.iter().map(|&pass| flag(subject, device, pass)).collect::<Result<Vec<_>, _>>()
    };
    let (parts, verdicts) = (flags(&round.parts)?, flags(&round.verdicts)?);
    let (parts, verdicts): (Vec<_>, Vec<_>) = (parts.iter().collect(), verdicts.iter().collect());
    let mut scale = device.upload_state(scale)?;
    device.update(&mut scale, &parts, &verdicts, rule)?;
    Ok(device.read(&[], &scale)?.1)
}

/// A finding that is raised or not, of a gradient of that size.
fn flag<S, D>(subject: &S, device: &D, pass: Pass) -> Result<D::Found, Refusal>
where
    S: Subject<Tensor = D::Tensor>,
    D: GradScaler<Grads: From<NamedGrads<D::Tensor>>>,
{
    let elements = [pass.magnitude, if pass.raised { f32::INFINITY } else { -pass.magnitude }];
    let bits: Vec<u8> = elements.iter().flat_map(|element| element.to_le_bytes()).collect();
    let tensor = subject.from_bits(&bits, DType::F32, &[elements.len()])?;
    let mut grads = D::Grads::from(vec![Named::new("flag", Some(tensor))]);
    let one = device.upload_state(ScaleState::from_exponent(0))?;
    Ok(device.unscale(&mut grads, &one)?)
}

/// [`Subject::train`] by [`GradScaler::unscale`], the clipping of [`GradOps`], [`ScaleStore::merge`] and
/// [`MasterWeights::step`].
///
/// # Errors
///
/// The device's.
pub fn train<D>(
    device: &D,
    params: Vec<Named<<D as Handle>::Tensor>>,
    turns: Vec<Turn<<D as Handle>::Tensor>>,
) -> Result<Vec<Named<<D as Handle>::Tensor>>, Refusal>
where
    D: GradOps<Grads: From<NamedGrads<<D as Handle>::Tensor>>>
        + MasterWeights<Params = Vec<Named<<D as Handle>::Tensor>>>,
{
    train_by(device, MasterStore::Copy, params, turns)
}

/// [`Subject::train_by`] by [`GradScaler::unscale`] and [`MasterWeights::step`], with a plan of that store.
///
/// # Errors
///
/// The device's.
pub fn train_by<D>(
    device: &D,
    store: MasterStore,
    mut params: Vec<Named<<D as Handle>::Tensor>>,
    turns: Vec<Turn<<D as Handle>::Tensor>>,
) -> Result<Vec<Named<<D as Handle>::Tensor>>, Refusal>
where
    D: GradOps<Grads: From<NamedGrads<<D as Handle>::Tensor>>>
        + MasterWeights<Params = Vec<Named<<D as Handle>::Tensor>>>,
{
    let first = turns.first().ok_or_else(|| missing("training takes at least one turn"))?;
    let plan = |rule| Ok::<_, Refusal>(Plan::new(rule)?.with_store(store));
    let mut masters = device.masters(&mut params, &plan(first.rule)?)?;
    for turn in turns {
        device.set_plan(&mut masters, &plan(turn.rule)?)?;
        let mut grads = D::Grads::from(turn.grads);
        let scale = device.upload_state(turn.scale)?;
        let mut found = device.unscale(&mut grads, &scale)?;
        if let Some(clip) = turn.clip {
            sets::limit(device, &mut grads, clip, &mut found)?;
        }
        if let Some(beside) = turn.beside {
            let mut beside = D::Grads::from(beside);
            let other = device.unscale(&mut beside, &scale)?;
            device.merge(&mut found, &other, Join::Any)?;
        }
        device.step(&mut params, &mut masters, grads, &found)?;
    }
    Ok(params)
}

/// What a finding on the device turned out to be.
fn read<D: ScaleStore>(device: &D, found: &D::Found, scale: &D::Scale) -> Result<Finding, Refusal> {
    let (mut findings, _) = device.read(&[found], scale)?;
    findings.pop().ok_or_else(|| missing("read gave no finding for the one asked"))
}

fn missing(what: &str) -> Refusal {
    Refusal::Failed(what.to_owned())
}
