//! Optimizer of the user's own, from a closure.

use crate::{GradSet, NamedGrads, Optimizer, TrainError};
use std::fmt;

/// Optimizer from a closure. The closure gets the gradients of each step that is not skipped: unscaled, in `f32`, in the order of the set; `None` is
/// a missing one.
///
/// Each step reads one flag from the device, so a skipped step never calls the closure. The fused, predicated `MasterOptimizer` of
/// `binade-master-weights` reads nothing. A set without any gradient is an error and does not reach the closure either.
///
/// It keeps no master weights. The counterpart of Apex's `FP16_Optimizer` is `Fp16Optimizer` of `binade-master-weights`, which does not read the
/// device. The tensors that the closure updates should be stored in `f32`: in sixteen bits small updates are lost.
///
/// # Examples
///
/// ```
/// use binade_core::{FoundInf, HostDevice, HostOptimizer, HostTensor, Named, Optimizer};
///
/// let mut weight = 1.0;
/// let mut descent = HostOptimizer::new(HostDevice::<HostTensor>::new(), |grads| {
///     for grad in grads.into_iter().filter_map(|grad| grad.value) {
///         weight -= 0.1 * grad.to_f32()[0];
///     }
///     Ok(())
/// });
/// let grads = vec![Named::new("weight", Some(HostTensor::from(vec![2.0])))];
/// descent.step(grads, &FoundInf::default())?;
/// assert_eq!(weight, 0.8);
/// # Ok::<(), binade_core::HostDeviceError<binade_core::HostTypeError>>(())
/// ```
pub struct HostOptimizer<D, F> {
    device: D,
    apply: F,
    /// Number of steps that were skipped.
    pub skipped: u64,
}

impl<D, F> HostOptimizer<D, F>
where
    D: GradSet,
    F: FnMut(NamedGrads<D::Tensor>) -> Result<(), D::Error>,
{
    /// Calls `apply` with the gradients of each step that is not skipped.
    pub fn new(device: D, apply: F) -> Self {
        Self { device, apply, skipped: 0 }
    }
}

impl<D, F> Optimizer<D::Grads, D::Found> for HostOptimizer<D, F>
where
    D: GradSet,
    F: FnMut(NamedGrads<D::Tensor>) -> Result<(), D::Error>,
{
    type Error = D::Error;

    fn step(&mut self, grads: D::Grads, found: &D::Found) -> Result<(), D::Error> {
        if self.device.is_raised(found)? {
            self.skipped += 1;
            return Ok(());
        }
        let grads = self.device.materialise(grads)?;
        if !grads.is_empty() && grads.iter().all(|grad| grad.value.is_none()) {
            return Err(self
                .device
                .train_error(TrainError::NoGradients { parameters: grads.len() }));
        }
        (self.apply)(grads)
    }
}

impl<D, F> fmt::Debug for HostOptimizer<D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostOptimizer").field("skipped", &self.skipped).finish_non_exhaustive()
    }
}
