//! Loss scaling: the scale and the findings of passes are values on the device.

use crate::{BufferOf, Driver, Found, Gpu, Gradients, Kernels, Result, ScaleBits, Tensor};
use binade_core::FoundInf;
use binade_grad_scaler::{GradScaler, Loss, LossScale, MergeRule, ScaleState, ScaleStore};
use std::{fmt, sync::Arc};

/// Scale on the device. A change is made in place unless a clone is alive, which keeps what it reads.
#[derive(Debug)]
pub struct Scale<D: Kernels> {
    /// [`ScaleBits`] on the device.
    pub bits: Arc<BufferOf<D>>,
    /// The report of the update that made it, on its way to the host.
    pub report: Option<Arc<D::Report>>,
    /// The clones that read it, as far as the driver asks.
    pub readers: D::Readers,
}

impl<D: Kernels> Clone for Scale<D> {
    fn clone(&self) -> Self {
        let report = self.report.as_ref().map(D::Report::frozen);
        let readers = self.readers.of_clone(&self.bits.pool().state);
        Self { bits: self.bits.clone(), report, readers }
    }
}

/// The readers of a scale that captured steps move.
pub trait Readers<S>: fmt::Debug + Default {
    /// Returns the readers of a clone.
    #[must_use]
    fn of_clone(&self, state: &S) -> Self;
}

/// Readers of a device that captures no steps: none.
impl<S> Readers<S> for () {
    fn of_clone(&self, _: &S) {}
}

/// Report of a step on its way to the host: the scale after it, and the findings of its passes.
pub trait Report<D: Kernels>: fmt::Debug {
    /// Returns where each of `found` is in it, if all are.
    fn places(&self, device: &D, found: &[&Found<D>]) -> Option<Vec<usize>>;

    /// Returns true once it can be read without waiting.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    fn has_come(&self, device: &D) -> Result<bool, D>;

    /// Returns a report that nothing changes any more; of a captured step, that of its latest replay.
    #[must_use]
    fn frozen(self: &Arc<Self>) -> Arc<Self> {
        self.clone()
    }

    /// Waits for it, and returns the findings at `places` and the scale.
    ///
    /// # Errors
    ///
    /// Where the device fails, or an operation met an index outside its table.
    fn read(&self, device: &D, found: &[&Found<D>], places: &[usize]) -> Result<Reported, D>;

    /// Waits for the device, and returns findings and a scale that no update has reported.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read).
    fn gather(device: &D, found: &[&Found<D>], scale: &BufferOf<D>) -> Result<Reported, D>;
}

/// Findings of a step, and the scale after it.
pub type Reported = (Vec<FoundInf>, ScaleState);

/// Returns where a report with findings of these stamps has each of `found`, if it has all of them.
pub fn places_by_stamp<D: Driver>(stamps: &[u64], found: &[&Found<D>]) -> Option<Vec<usize>> {
    let place = |found: &&Found<D>| stamps.iter().position(|stamp| *stamp == found.stamp);
    found.iter().map(place).collect()
}

impl<D: Kernels> Scale<D> {
    /// Returns the report and where it has each of `found`, if it has all of them.
    fn reported(&self, device: &D, found: &[&Found<D>]) -> Option<(&Arc<D::Report>, Vec<usize>)> {
        let report = self.report.as_ref()?;
        Some((report, report.places(device, found)?))
    }
}

impl<D: Kernels> ScaleStore for Gpu<'_, D> {
    type Scale = Scale<D>;

    fn upload_state(&self, state: ScaleState) -> Result<Scale<D>, D> {
        let bits = self.0.buffer_of(bytemuck::bytes_of(&ScaleBits::from(state)))?;
        Ok(Scale { bits: Arc::new(bits), report: None, readers: D::Readers::default() })
    }

    fn merge(&self, into: &mut Found<D>, from: &Found<D>, join: MergeRule) -> Result<(), D> {
        self.0.check_owner(&from.bits)?;
        self.0.run_merge(into.own(self.0)?, &from.bits, join)
    }

    fn update(
        &self,
        scale: &mut Scale<D>,
        parts: &[&Found<D>],
        verdicts: &[&Found<D>],
        rule: &LossScale,
    ) -> Result<(), D> {
        let found: Vec<&Found<D>> = parts.iter().chain(verdicts).copied().collect();
        found.iter().try_for_each(|found| self.0.check_owner(&found.bits))?;
        self.0.check_owner(&scale.bits)?;
        self.0.run_update(scale, &found, parts.len(), rule)
    }

    fn read(&self, found: &[&Found<D>], scale: &Scale<D>) -> Result<Reported, D> {
        if let Some((report, places)) = scale.reported(self.0, found) {
            return report.frozen().read(self.0, found, &places);
        }
        found.iter().try_for_each(|found| self.0.check_owner(&found.bits))?;
        self.0.check_owner(&scale.bits)?;
        D::Report::gather(self.0, found, &scale.bits)
    }

    fn is_ready(&self, found: &[&Found<D>], scale: &Scale<D>) -> Result<bool, D> {
        scale.reported(self.0, found).map_or(Ok(true), |(report, _)| report.has_come(self.0))
    }

    fn upload_found(&self, found: &FoundInf) -> Result<Found<D>, D> {
        Found::upload(self.0, found)
    }
}

impl<D: Kernels> GradScaler for Gpu<'_, D> {
    /// Looks at every gradient as it is and as it will be once multiplied by the scale's inverse, which it is owed then.
    fn unscale(&self, grads: &mut Gradients<D>, scale: &Scale<D>) -> Result<Found<D>, D> {
        if grads.owed.is_some() {
            *grads = grads.apply_factors(self.0, f32::INFINITY)?;
        }
        grads.check_owner(self.0)?;
        self.0.check_owner(&scale.bits)?;
        let [found, owed] = self.0.run_unscale(grads, &scale.bits)?;
        grads.owed = Some(Arc::new(owed));
        grads.is_measured = true;
        Ok(Found::of(found, grads))
    }
}

impl<D: Kernels> Loss<D> for Tensor<D> {
    type Error = D::Error;

    fn scaled(&self, device: &D, scale: &Scale<D>) -> Result<Self, D> {
        times(device, self, scale, false)
    }

    fn unscaled(&self, device: &D, scale: &Scale<D>) -> Result<Self, D> {
        times(device, self, scale, true)
    }
}

/// Returns `tensor`, in `f32`, times the scale or its inverse.
fn times<D: Kernels>(
    device: &D,
    tensor: &Tensor<D>,
    scale: &Scale<D>,
    is_inverse: bool,
) -> Result<Tensor<D>, D> {
    device.check_owner(tensor.buffer())?;
    device.check_owner(&scale.bits)?;
    device.run_scale(tensor, &scale.bits, is_inverse)
}
