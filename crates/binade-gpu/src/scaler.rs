//! Loss scaling: the scale and the findings of passes are values on the device.

use crate::{BufferOf, Driver, Found, Gradients, Kernels, Result, ScaleBits, Tensor};
use binade_core::{DType, Finding};
use binade_grad_scaler::{Join, Loss, LossScale, ScaleState};
use std::{fmt, sync::Arc};

/// Scale on the device, with the report of the update that made it. A change is made in place unless a clone is alive, which
/// keeps what it reads.
pub trait DeviceScale<D: Kernels>: Clone + fmt::Debug {
    /// A report on its way to the host.
    type Report: Report<D>;

    /// A scale that nobody has reported.
    fn new(bits: BufferOf<D>) -> Self;

    /// The buffer of [`ScaleBits`].
    fn bits(&self) -> &BufferOf<D>;

    /// The report of the update that made it, where there is one.
    fn report(&self) -> Option<&Arc<Self::Report>>;

    /// Moves the scale by `rule`, of which the first `parts` findings are of gradients, and sends a report.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    fn update(
        &mut self,
        device: &D,
        found: &[&Found<D>],
        parts: usize,
        rule: &LossScale,
    ) -> Result<(), D>;
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

    /// Waits for it, and returns the findings at `places` and the scale.
    ///
    /// # Errors
    ///
    /// Where the device fails, or an operation met an index outside its table.
    fn read(
        self: &Arc<Self>,
        device: &D,
        found: &[&Found<D>],
        places: &[usize],
    ) -> Result<Reported, D>;

    /// Waits for the device, and returns findings and a scale that no update has reported.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read).
    fn gather(device: &D, found: &[&Found<D>], scale: &BufferOf<D>) -> Result<Reported, D>;
}

/// Findings of a step, and the scale after it.
pub type Reported = (Vec<Finding>, ScaleState);

/// Returns where a report with findings of these stamps has each of `found`, if it has all of them.
pub fn places_by_stamp<D: Driver>(stamps: &[u64], found: &[&Found<D>]) -> Option<Vec<usize>> {
    let place = |found: &&Found<D>| stamps.iter().position(|stamp| *stamp == found.stamp());
    found.iter().map(place).collect()
}

/// Uploads a scale: implements `ScaleStore::upload_state`.
///
/// # Errors
///
/// Where the device fails or has no room.
pub fn upload_scale<D: Kernels>(device: &D, state: ScaleState) -> Result<D::Scale, D> {
    let bits = device.buffer_of(bytemuck::bytes_of(&ScaleBits::from(state)))?;
    Ok(D::Scale::new(bits))
}

/// Moves the scale: implements `ScaleStore::update`.
///
/// # Errors
///
/// [`Foreign`](crate::Error::Foreign) for another handle's values; where the device fails.
pub fn update_scale<D: Kernels>(
    device: &D,
    scale: &mut D::Scale,
    [parts, verdicts]: [&[&Found<D>]; 2],
    rule: &LossScale,
) -> Result<(), D> {
    let found: Vec<&Found<D>> = parts.iter().chain(verdicts).copied().collect();
    found.iter().try_for_each(|found| device.has_made(found.buffer()))?;
    device.has_made(scale.bits())?;
    scale.update(device, &found, parts.len(), rule)
}

/// Waits for findings and the scale: implements `ScaleStore::read`.
///
/// # Errors
///
/// As for [`Report::read`].
pub fn read_scale<D: Kernels>(
    device: &D,
    found: &[&Found<D>],
    scale: &D::Scale,
) -> Result<Reported, D> {
    let report = scale.report();
    if let Some((report, places)) = report.and_then(|it| Some((it, it.places(device, found)?))) {
        return report.read(device, found, &places);
    }
    found.iter().try_for_each(|found| device.has_made(found.buffer()))?;
    device.has_made(scale.bits())?;
    <D::Scale as DeviceScale<D>>::Report::gather(device, found, scale.bits())
}

/// Returns true if findings and scale can be read without waiting for an update's report: implements `ScaleStore::is_ready`.
///
/// # Errors
///
/// Where the device fails.
pub fn is_scale_ready<D: Kernels>(
    device: &D,
    found: &[&Found<D>],
    scale: &D::Scale,
) -> Result<bool, D> {
    match scale.report() {
        Some(report) if report.places(device, found).is_some() => report.has_come(device),
        _ => Ok(true),
    }
}

impl<D: Kernels> Found<D> {
    /// Joins another finding to this one: implements `ScaleStore::merge`.
    ///
    /// # Errors
    ///
    /// [`Foreign`](crate::Error::Foreign) for another handle's finding; where the device fails.
    pub fn merge(&mut self, device: &D, from: &Self, join: Join) -> Result<(), D> {
        device.has_made(from.buffer())?;
        device.run_merge(self.own(device)?, from.buffer(), join)
    }
}

impl<D: Kernels> Gradients<D> {
    /// Looks at every gradient as it is and as it will be once multiplied by the scale's inverse, which it is owed then:
    /// implements `GradScaler::unscale`.
    ///
    /// # Errors
    ///
    /// [`Foreign`](crate::Error::Foreign) for another handle's values; where the device fails or has no room.
    pub fn unscale(&mut self, device: &D, scale: &D::Scale) -> Result<Found<D>, D> {
        if self.owed.is_some() {
            *self = self.settled(device, f32::INFINITY)?;
        }
        self.check_owner(device)?;
        device.has_made(scale.bits())?;
        let [found, owed] = device.run_unscale(self, scale.bits())?;
        self.owed = Some(Arc::new(owed));
        self.is_measured = true;
        Ok(Found::of(found, self))
    }
}

impl<D: Kernels> Loss<D> for Tensor<D> {
    type Error = D::Error;

    fn scaled(&self, device: &D, scale: &D::Scale) -> Result<Self, D> {
        times(device, self, scale, false)
    }

    fn unscaled(&self, device: &D, scale: &D::Scale) -> Result<Self, D> {
        times(device, self, scale, true)
    }
}

/// Returns `tensor`, in `f32`, times the scale or its inverse.
fn times<D: Kernels>(
    device: &D,
    tensor: &Tensor<D>,
    scale: &D::Scale,
    is_inverse: bool,
) -> Result<Tensor<D>, D> {
    device.has_made(tensor.buffer())?;
    device.has_made(scale.bits())?;
    let result = device.unset(DType::F32, tensor.shape())?;
    device.run_scale(tensor, &result, scale.bits(), is_inverse)?;
    Ok(result)
}
