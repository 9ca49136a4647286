//! Loss scaling, with the scale and found-inf results on the device.

use crate::{
    BufferOf, Found, Gpu, Gradients, Kernels, Result, ScaleBits, Tensor, found::parse_report,
};
use binade_core::FoundInf;
use binade_grad_scaler::{GradScaler, Loss, LossScale, MergeRule, ScaleState, ScaleStore};
use std::{fmt, sync::Arc};

/// Scale on the device. It is updated in place, unless a clone still needs the old value.
#[derive(Debug)]
pub struct Scale<D: Kernels> {
    /// [`ScaleBits`] on the device.
    pub bits: Arc<BufferOf<D>>,
    /// Report of the update that made the scale, in transfer to the host.
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

/// Readers of a scale that captured steps update.
pub trait Readers<S>: fmt::Debug + Default {
    /// Returns the readers of a clone.
    #[must_use]
    fn of_clone(&self, state: &S) -> Self;
}

/// Readers of a device that captures no steps: none.
impl<S> Readers<S> for () {
    fn of_clone(&self, _: &S) {}
}

/// Report of a step, in transfer to the host: the scale after the step, and the found-inf results of its passes.
pub trait Report<D: Kernels>: fmt::Debug {
    /// Returns the stamps of its found-inf results, in their order.
    fn stamps(&self) -> &[u64];

    /// Returns true if the scale in it is still the device's: no captured step that moves it has been replayed since.
    fn has_latest_scale(&self, _device: &D) -> bool {
        true
    }

    /// Returns true once it can be read without waiting.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn has_come(&self, device: &D) -> Result<bool, D>;

    /// Returns a report that no longer changes; for a captured step, that of its latest replay.
    #[must_use]
    fn frozen(self: &Arc<Self>) -> Arc<Self> {
        self.clone()
    }

    /// Waits for it, and returns its bytes and the words of the findings at `places`.
    ///
    /// # Errors
    ///
    /// Where the device fails, or an operation met an index outside its table.
    fn read(&self, device: &D, places: &[usize]) -> Result<Reported, D>;

    /// Waits for the device, and returns, in the layout of a report, found-inf results and a scale that no update has reported.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read).
    fn gather(device: &D, found: &[&Found<D>], scale: &BufferOf<D>) -> Result<Reported, D>;
}

/// Bytes of a report, as [`finding_offset`](crate::finding_offset) says, and of each finding the contents of its [`Found::words`],
/// empty where it has none.
pub type Reported = (Vec<u8>, Vec<Vec<u8>>);

impl<D: Kernels> Scale<D> {
    /// Returns the report and where it has each of `found`, if it has all of them.
    fn reported(&self, device: &D, found: &[&Found<D>]) -> Option<(&Arc<D::Report>, Vec<usize>)> {
        let report = self.report.as_ref()?;
        // A scale that is asked for alone is no longer the report's where a captured step has been replayed since.
        if found.is_empty() && !report.has_latest_scale(device) {
            return None;
        }
        let place = |found: &&Found<D>| report.stamps().iter().position(|at| *at == found.stamp);
        Some((report, found.iter().map(place).collect::<Option<_>>()?))
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

    fn read(
        &self,
        found: &[&Found<D>],
        scale: &Scale<D>,
    ) -> Result<(Vec<FoundInf>, ScaleState), D> {
        if let Some((report, places)) = scale.reported(self.0, found) {
            let (report, words) = report.frozen().read(self.0, &places)?;
            return parse_report(self.0, &report, found, &places, &words);
        }
        found.iter().try_for_each(|found| self.0.check_owner(&found.bits))?;
        self.0.check_owner(&scale.bits)?;
        let (report, words) = D::Report::gather(self.0, found, &scale.bits)?;
        let places: Vec<usize> = (0..found.len()).collect();
        parse_report(self.0, &report, found, &places, &words)
    }

    fn is_ready(&self, found: &[&Found<D>], scale: &Scale<D>) -> Result<bool, D> {
        scale.reported(self.0, found).map_or(Ok(true), |(report, _)| report.has_come(self.0))
    }

    fn upload_found(&self, found: &FoundInf) -> Result<Found<D>, D> {
        Found::upload(self.0, found)
    }
}

impl<D: Kernels> GradScaler for Gpu<'_, D> {
    /// Checks every gradient before and after multiplication by the scale's inverse, which becomes a pending factor.
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
