//! Whole iterations by what a training loop holds: a [`Scaler`], its windows, and an optimizer.

use crate::{
    Backend, DelayedResult, DelayedRun, LossPair, Result, StepSharing, SubjectError, Tensor,
    TrainingDevice,
};
use binade_core::{GradSet, Handle, NamedGrads, Optimizer};
use binade_grad_scaler::{LossScale, ScaleState, ScaledGrads, Scaler, Step, UnscaledGrads};
use std::marker::PhantomData;

type GradsOf<S> = <<S as Backend>::Handle as GradSet>::Grads;

/// Sums losses by [`Scaler::sum_scaled`], or by [`Scaler::delay_unscale`] where the framework adds gradients up.
pub(crate) fn delayed<S: Backend + ?Sized>(
    subject: &S,
    device: &S::Handle,
    window: DelayedRun<Tensor<S>>,
) -> Result<DelayedResult<Tensor<S>>> {
    let mut scaler = at(device, LossScale::dynamic(), window.start)?;
    let mut losses = Vec::new();
    let grads = match window.buffers {
        None => {
            let mut sum = scaler.sum_scaled();
            for pass in window.passes {
                let grads = GradsOf::<S>::from(pass.grads);
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
            let grads = sum.collect(|| Ok(GradsOf::<S>::from(buffers)))?;
            grads.map(ScaledGrads::unscale).transpose()?
        }
    };
    let grads = grads.ok_or_else(|| SubjectError::failed("a window takes at least one loss"))?;
    let mut given = Given::new();
    let step = grads.step(&mut given)?;
    let step = scaler.update(step)?.resolve()?;
    let summary = step.report().steps.first().cloned();
    let summary = summary.ok_or_else(|| SubjectError::failed("a step has one summary"))?;
    let losses = losses.into_iter().collect::<Result<_>>()?;
    Ok(DelayedResult { losses, grads: given.materialise(device)?, summary })
}

/// Updates by [`Scaler::update_each`], with a window or a step for each.
pub(crate) fn update_each<D: TrainingDevice>(
    device: &D,
    losses: LossPair<D::Tensor>,
) -> Result<[Step; 2]> {
    let LossPair { rule, scales: [a, b], loss, grads: [of_a, of_b], meet } = losses;
    let (mut a, mut b) = (at(device, rule, a)?, at(device, rule, b)?);
    let (of_a, of_b) = (unscaled(&a, &loss, of_a)?, unscaled(&b, &loss, of_b)?);
    let step = match meet {
        StepSharing::Apart => {
            of_a.step(&mut Given::<D>::new())?.and(of_b.step(&mut Given::<D>::new())?)
        }
        StepSharing::Window { bad, max_norm } => {
            let mut window = a.accumulate(bad);
            window.add(of_a)?;
            window.add(of_b)?;
            let sum = window
                .finish()?
                .ok_or_else(|| SubjectError::failed("a window of two has a sum"))?;
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
fn at<D: TrainingDevice>(device: &D, rule: LossScale, state: ScaleState) -> Result<Scaler<D>> {
    let mut scaler = Scaler::new(device.clone(), rule)?;
    scaler.set_state(state)?;
    Ok(scaler)
}

/// Returns scaled gradients without the scaler's scale.
fn unscaled<D: TrainingDevice>(
    scaler: &Scaler<D>,
    loss: &D::Tensor,
    grads: NamedGrads<D::Tensor>,
) -> Result<UnscaledGrads<D>> {
    Ok(scaler.scale(loss)?.backward(|_| Ok(D::Grads::from(grads)))?.unscale()?)
}

/// An optimizer that keeps what it is given, and moves nothing.
struct Given<D: TrainingDevice> {
    grads: Option<D::Grads>,
    device: PhantomData<D>,
}

impl<D: TrainingDevice> Given<D> {
    fn new() -> Self {
        Self { grads: None, device: PhantomData }
    }

    fn materialise(self, device: &D) -> Result<NamedGrads<D::Tensor>> {
        let grads = self
            .grads
            .ok_or_else(|| SubjectError::failed("a step gives the optimizer its gradients"))?;
        Ok(device.materialise(grads)?)
    }
}

impl<D: TrainingDevice> Optimizer<D::Grads, D::Found> for Given<D> {
    type Error = <D as Handle>::Error;

    fn step(&mut self, grads: D::Grads, _: &D::Found) -> Result<(), Self::Error> {
        self.grads = Some(grads);
        Ok(())
    }
}
