//! Optimizers of the wrapped device, which step with averaged gradients.

use crate::{RankDevice, RankGrads, RanksError};
use binade_core::{FoundInf, Optimizer};

/// Optimizer of the wrapped device on a rank: a framework's or a custom one. It gets the averaged gradients instead of this rank's own, so every rank
/// makes the same step.
///
/// You can construct it for each step from a reference. It needs [`Partition::Whole`](crate::Partition), since the optimizer has whole parameters.
/// `MasterOptimizer` and `HostOptimizer` over [`Ranks`](crate::Ranks) use averages without it.
///
/// # Examples
///
/// ```
/// use binade::core::{FoundInf, HostTensor, Optimizer};
/// use binade::prelude::*;
/// use binade_ranks::{Alone, RankOptimizer, Ranks};
///
/// type Device = HostDevice<HostTensor>;
///
/// /// Optimizer that was there before the ranks.
/// struct Descent(Vec<f32>);
///
/// impl Optimizer<NamedGrads<HostTensor>, FoundInf> for Descent {
///     type Error = <Device as Handle>::Error;
///
///     fn step(&mut self, grads: NamedGrads<HostTensor>, found: &FoundInf) -> Result<(), Self::Error> {
///         for (weight, grad) in self.0.iter_mut().zip(&grads).filter(|_| !found.is_raised()) {
///             *weight -= 0.5 * grad.value.as_ref().map_or(0.0, |grad| grad.to_f32()[0]);
///         }
///         Ok(())
///     }
/// }
///
/// let mut scaler = Scaler::new(Ranks::new(Device::new(), Alone), LossScale::dynamic())?;
/// let mut descent = Descent(vec![1.0]);
/// let losses = vec![HostTensor::from(vec![1.0_f32])];
/// let grads = scaler.scale(&losses)?.backward(|scaled| {
///     let set = |loss: &HostTensor| vec![Named::new("weight", Some(loss.clone()))];
///     Ok(scaled.iter().map(set).collect())
/// })?;
/// let step = grads.unscale()?.step(&mut RankOptimizer(&mut descent))?;
/// assert!(scaler.update(step)?.resolve()?.is_applied());
/// assert_eq!(descent.0, [0.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RankOptimizer<O>(pub O);

impl<D, O> Optimizer<RankGrads<D>, FoundInf> for RankOptimizer<O>
where
    D: RankDevice,
    O: Optimizer<D::Grads, FoundInf>,
    D::Error: From<O::Error>,
{
    type Error = RanksError<D::Error>;

    fn step(&mut self, grads: RankGrads<D>, found: &FoundInf) -> Result<(), Self::Error> {
        let stepped = self.0.step(grads.into_average()?, found);
        stepped.map_err(|error| RanksError::Device(error.into()))
    }
}
