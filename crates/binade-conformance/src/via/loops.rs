//! Whole iterations by what a training loop holds: a [`Scaler`], its windows, and an optimizer.

use super::{Trains, missing};
use crate::{
    Coalesce, Collected, Coordinates, Delayed, Led, Losses, Meet, Refusal, Subject, Unscaled,
    Walked, via,
};
use binade_core::{DType, Element, Handle, Named, NamedGrads, Optimizer};
use binade_grad_scaler::{
    LossScale, ReplayScales, ScaleState, ScaledGrads, Scaler, SparseGrad, Step, Trajectory,
    UnscaledGrads,
};
use binade_master_weights::{MasterOptimizer, Plan};
use half::{bf16, f16};
use std::marker::PhantomData;

type TensorOf<D> = <D as Handle>::Tensor;

/// [`Subject::sparse`] by [`SparseGrad::dense`] and [`GradScaler::unscale`](binade_grad_scaler::GradScaler::unscale).
///
/// # Errors
///
/// The device's, and those of [`SparseGrad::new`].
pub fn sparse<S, D>(
    subject: &S,
    device: &D,
    grads: Vec<Named<Coordinates>>,
    scale: ScaleState,
) -> Result<Unscaled<S::Tensor>, Refusal>
where
    S: Subject<Tensor = TensorOf<D>>,
    D: Trains,
{
    let whole = |Named { name, value }: Named<Coordinates>| {
        let dense = dense(&value)?;
        let bits: Vec<u8> = dense.iter().flat_map(|x| x.to_le_bytes()).collect();
        let shape: Vec<usize> = value.shape.iter().copied().chain([value.width]).collect();
        let value = Some(subject.from_bits(&bits, DType::F32, &shape)?);
        Ok(Named { name, value })
    };
    let grads = grads.into_iter().map(whole).collect::<Result<NamedGrads<_>, Refusal>>()?;
    via::unscale(device, grads, scale)
}

/// The whole gradient, in `f32`.
fn dense(grad: &Coordinates) -> Result<Vec<f32>, Refusal> {
    match grad.values.dtype {
        DType::BF16 => dense_of::<bf16>(grad),
        DType::F16 => dense_of::<f16>(grad),
        DType::F32 => dense_of::<f32>(grad),
        other => Err(Refusal::unsupported(&format!("a sparse gradient of {other}"))),
    }
}

fn dense_of<E: Element>(grad: &Coordinates) -> Result<Vec<f32>, Refusal> {
    let code = |code: u64| u32::try_from(code).map_or_else(|_| E::default(), E::from_code);
    let values = grad.values.codes().map(code).collect();
    let indices: Vec<&[usize]> = grad.indices.iter().map(Vec::as_slice).collect();
    let rows = SparseGrad::new(&grad.shape, grad.width, &indices, values)?;
    Ok(match grad.coalesce {
        Coalesce::InF32 => rows.dense(),
        Coalesce::InOwnType => rows.coalesced_in_own_type().dense(),
    })
}

/// [`Subject::delayed`] by [`Scaler::sum_scaled`], or by [`Scaler::delay_unscale`] where the framework adds gradients up.
///
/// # Errors
///
/// The device's.
pub fn delayed<S, D>(
    subject: &S,
    device: &D,
    window: Delayed<S::Tensor>,
) -> Result<Collected<S::Tensor>, Refusal>
where
    S: Subject<Tensor = TensorOf<D>>,
    D: Trains,
{
    let mut scaler = at(device, LossScale::dynamic(), window.start)?;
    let mut losses = Vec::new();
    let grads = match window.buffers {
        None => {
            let mut sum = scaler.sum_scaled();
            for pass in window.passes {
                let grads = D::Grads::from(pass.grads);
                sum.backward(&pass.loss, |loss| {
                    losses.push(subject.to_bits(loss));
                    Ok(grads)
                })?;
                scaler.set_state(pass.moved)?;
            }
            sum.unscale()?
        }
        Some(buffers) => {
            let mut sum = scaler.delay_unscale();
            for pass in window.passes {
                sum.backward(&pass.loss, |loss| {
                    losses.push(subject.to_bits(loss));
                    Ok(())
                })?;
                scaler.set_state(pass.moved)?;
            }
            let grads = sum.collect(|| Ok(D::Grads::from(buffers)))?;
            grads.map(ScaledGrads::unscale).transpose()?
        }
    };
    let grads = grads.ok_or_else(|| missing("a window takes at least one loss"))?;
    let mut given = Given::new();
    let step = grads.step(&mut given)?;
    let step = scaler.update(step)?.resolve()?;
    let summary = step.report().steps.first().cloned();
    let summary = summary.ok_or_else(|| missing("a step has one summary"))?;
    let losses = losses.into_iter().collect::<Result<_, Refusal>>()?;
    Ok(Collected { losses, grads: given.materialise(device)?, summary })
}

/// [`Subject::follow`] by [`ReplayScales`] and [`Trajectory`], with a [`MasterOptimizer`].
///
/// # Errors
///
/// The device's.
pub fn follow<D: Trains>(
    device: &D,
    run: Led<TensorOf<D>>,
) -> Result<Walked<TensorOf<D>>, Refusal> {
    let Led { rule, start, recording, update, params, loss, iterations } = run;
    let mut scaler = at(device, rule, start)?;
    let mut optimizer = MasterOptimizer::new(device.clone(), params, Plan::new(update)?)?;
    let mut own = Trajectory::new(start);
    let mut follow = recording.map(ReplayScales::new);
    let mut steps = Vec::new();
    for grads in iterations {
        if let Some(follow) = &mut follow {
            follow.begin_step(&mut scaler)?;
        }
        let step = unscaled(&scaler, &loss, grads)?.step(&mut optimizer)?;
        let step = scaler.update(step)?.resolve()?;
        steps.push(match &mut follow {
            None => {
                own.record(&step)?;
                (step, None)
            }
            Some(follow) => match follow.check(step) {
                Ok(step) => (step, None),
                Err(parted) => (*parted.step, Some(parted.kind)),
            },
        });
    }
    let recording = follow.map_or(own, |follow| follow.trajectory);
    Ok(Walked { params: optimizer.params, steps, recording })
}

/// [`Subject::update_each`] by [`Scaler::update_each`], with a window or a step for each.
///
/// # Errors
///
/// The device's.
pub fn update_each<D: Trains>(
    device: &D,
    losses: Losses<TensorOf<D>>,
) -> Result<[Step; 2], Refusal> {
    let Losses { rule, scales: [a, b], loss, grads: [of_a, of_b], meet } = losses;
    let (mut a, mut b) = (at(device, rule, a)?, at(device, rule, b)?);
    let (of_a, of_b) = (unscaled(&a, &loss, of_a)?, unscaled(&b, &loss, of_b)?);
    let step = match meet {
        Meet::Apart => of_a.step(&mut Given::<D>::new())?.and(of_b.step(&mut Given::<D>::new())?),
        Meet::Window { bad, max_norm } => {
            let mut window = a.accumulate(bad);
            window.add(of_a)?;
            window.add(of_b)?;
            let sum = window.finish()?.ok_or_else(|| missing("a window of two has a sum"))?;
            let sum = match max_norm {
                Some(max) => sum.clip_norm(max)?,
                None => sum,
            };
            sum.step(&mut Given::<D>::new())?
        }
    };
    let [of_a, of_b] = Scaler::update_each([&mut a, &mut b], step)?;
    Ok([of_a.resolve()?, of_b.resolve()?])
}

/// A scaler in this state.
fn at<D: Trains>(device: &D, rule: LossScale, state: ScaleState) -> Result<Scaler<D>, Refusal> {
    let mut scaler = Scaler::new(device.clone(), rule)?;
    scaler.set_state(state)?;
    Ok(scaler)
}

/// What these scaled gradients are without the scaler's scale.
fn unscaled<D: Trains>(
    scaler: &Scaler<D>,
    loss: &TensorOf<D>,
    grads: NamedGrads<TensorOf<D>>,
) -> Result<UnscaledGrads<D>, Refusal> {
    Ok(scaler.scale(loss)?.backward(|_| Ok(D::Grads::from(grads)))?.unscale()?)
}

/// An optimizer that keeps what it is given, and moves nothing.
struct Given<D: Trains> {
    grads: Option<D::Grads>,
    device: PhantomData<D>,
}

impl<D: Trains> Given<D> {
    fn new() -> Self {
        Self { grads: None, device: PhantomData }
    }

    fn materialise(self, device: &D) -> Result<NamedGrads<TensorOf<D>>, Refusal> {
        let grads =
            self.grads.ok_or_else(|| missing("a step gives the optimizer its gradients"))?;
        Ok(device.materialise(grads)?)
    }
}

impl<D: Trains> Optimizer<D::Grads, D::Found> for Given<D> {
    type Error = <D as Handle>::Error;

    fn step(&mut self, grads: D::Grads, _: &D::Found) -> Result<(), Self::Error> {
        self.grads = Some(grads);
        Ok(())
    }
}
