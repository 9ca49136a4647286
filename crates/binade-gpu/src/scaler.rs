//! Loss scaling: the scale and the findings of passes are values on the device.

use crate::{BufferOf, Driver, Found, Gradients, Kernels, Result, ScaleBits, Tensor};
use binade_core::FoundInf;
use binade_grad_scaler::{Loss, LossScale, MergeRule, ScaleState};
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
    /// Uploads a scale: implements `ScaleStore::upload_state`.
    ///
    /// # Errors
    ///
    /// Where the device fails or has no room.
    pub fn upload(device: &D, state: ScaleState) -> Result<Self, D> {
        let bits = device.buffer_of(bytemuck::bytes_of(&ScaleBits::from(state)))?;
        Ok(Self { bits: Arc::new(bits), report: None, readers: D::Readers::default() })
    }

    /// Moves the scale: implements `ScaleStore::update`.
    ///
    /// # Errors
    ///
    /// [`Foreign`](crate::Error::Foreign) for another handle's values; where the device fails.
    pub fn update(
        &mut self,
        device: &D,
        [parts, verdicts]: [&[&Found<D>]; 2],
        rule: &LossScale,
    ) -> Result<(), D> {
        let found: Vec<&Found<D>> = parts.iter().chain(verdicts).copied().collect();
        found.iter().try_for_each(|found| device.check_owner(&found.bits))?;
        device.check_owner(&self.bits)?;
        device.run_update(self, &found, parts.len(), rule)
    }

    /// Waits for findings and the scale: implements `ScaleStore::read`.
    ///
    /// # Errors
    ///
    /// As for [`Report::read`].
    pub fn read(&self, device: &D, found: &[&Found<D>]) -> Result<Reported, D> {
        if let Some((report, places)) = self.reported(device, found) {
            return report.frozen().read(device, found, &places);
        }
        found.iter().try_for_each(|found| device.check_owner(&found.bits))?;
        device.check_owner(&self.bits)?;
        D::Report::gather(device, found, &self.bits)
    }

    /// Returns true if findings and scale can be read without waiting for an update's report: implements `ScaleStore::is_ready`.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    pub fn is_ready(&self, device: &D, found: &[&Found<D>]) -> Result<bool, D> {
        self.reported(device, found).map_or(Ok(true), |(report, _)| report.has_come(device))
    }

    /// Returns the report and where it has each of `found`, if it has all of them.
    fn reported(&self, device: &D, found: &[&Found<D>]) -> Option<(&Arc<D::Report>, Vec<usize>)> {
        let report = self.report.as_ref()?;
        Some((report, report.places(device, found)?))
    }
}

impl<D: Kernels> Found<D> {
    /// Joins another finding to this one: implements `ScaleStore::merge`.
    ///
    /// # Errors
    ///
    /// [`Foreign`](crate::Error::Foreign) for another handle's finding; where the device fails.
    pub fn merge(&mut self, device: &D, from: &Self, join: MergeRule) -> Result<(), D> {
        device.check_owner(&from.bits)?;
        device.run_merge(self.own(device)?, &from.bits, join)
    }
}

impl<D: Kernels> Gradients<D> {
    /// Looks at every gradient as it is and as it will be once multiplied by the scale's inverse, which it is owed then:
    /// implements `GradScaler::unscale`.
    ///
    /// # Errors
    ///
    /// [`Foreign`](crate::Error::Foreign) for another handle's values; where the device fails or has no room.
    pub fn unscale(&mut self, device: &D, scale: &Scale<D>) -> Result<Found<D>, D> {
        if self.owed.is_some() {
            *self = self.apply_factors(device, f32::INFINITY)?;
        }
        self.check_owner(device)?;
        device.check_owner(&scale.bits)?;
        let [found, owed] = device.run_unscale(self, &scale.bits)?;
        self.owed = Some(Arc::new(owed));
        self.is_measured = true;
        Ok(Found::of(found, self))
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
