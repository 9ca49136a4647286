//! Found-inf results and scales, one for each device.

use crate::{ModelParallel, handle::Failed};
use binade_core::{FoundInf, GradSet, MergeRule};
use binade_grad_scaler::{LossScale, PeerDevice, ScaleState, ScaleStore};
use std::{mem, sync::Arc};

/// One value for each device, in their order.
#[derive(Clone, Debug)]
pub struct PerDevice<T>(pub(crate) Vec<T>);

impl<T> PerDevice<T> {
    /// Returns the values, in the order of the devices.
    pub fn values(&self) -> &[T] {
        &self.0
    }
}

/// Found-inf result of a pass over the gradients of all devices, with a copy on each device.
#[derive(Clone, Debug)]
pub struct ModelFound<F> {
    pub(crate) parts: Vec<F>,
    /// Names of all parameters, in the model's order.
    pub(crate) names: Arc<[Arc<str>]>,
}

impl<F> ModelFound<F> {
    /// Returns each device's copy, in the order of the devices.
    pub fn parts(&self) -> &[F] {
        &self.parts
    }
}

impl<D: PeerDevice> ModelParallel<D> {
    /// Joins the found-inf results of the devices' own gradients, on every device.
    pub(crate) fn joined(&self, mut own: Vec<D::Found>) -> Result<Vec<D::Found>, Failed<D>> {
        let devices = self.devices();
        let mut copies: Vec<Vec<D::Found>> = self.each(|here, device| {
            let others = own.iter().zip(devices).enumerate().filter(|(there, _)| *there != here);
            others.map(|(_, (found, there))| device.found_from(found, there)).collect()
        })?;
        self.each(|here, device| {
            let others = mem::take(&mut copies[here]);
            others.iter().try_for_each(|other| device.merge(&mut own[here], other, MergeRule::Any))
        })?;
        Ok(own)
    }
}

impl<D: PeerDevice> ModelParallel<D> {
    /// Checks that found-inf results and a scale have a part for each device.
    fn fit<'f>(
        &self,
        mut found: impl Iterator<Item = &'f ModelFound<D::Found>>,
        scale: &PerDevice<D::Scale>,
    ) -> Result<(), Failed<D>>
    where
        D: 'f,
    {
        self.fits(scale.0.len())?;
        found.try_for_each(|found| self.fits(found.parts.len()))
    }
}

impl<D: PeerDevice> ScaleStore for ModelParallel<D>
where
    Self: GradSet<Found = ModelFound<D::Found>, Error = Failed<D>>,
{
    type Scale = PerDevice<D::Scale>;

    fn upload_state(&self, state: ScaleState) -> Result<PerDevice<D::Scale>, Failed<D>> {
        self.each(|_, device| device.upload_state(state)).map(PerDevice)
    }

    fn merge(
        &self,
        into: &mut ModelFound<D::Found>,
        from: &ModelFound<D::Found>,
        join: MergeRule,
    ) -> Result<(), Failed<D>> {
        self.fits(into.parts.len())?;
        self.fits(from.parts.len())?;
        let merge = |number: usize, device: &D| {
            device.merge(&mut into.parts[number], &from.parts[number], join)
        };
        self.change(merge).map(drop)
    }

    /// Updates the scale of each device by found-inf results that are the same on all devices.
    fn update(
        &self,
        scale: &mut PerDevice<D::Scale>,
        parts: &[&ModelFound<D::Found>],
        verdicts: &[&ModelFound<D::Found>],
        rule: &LossScale,
    ) -> Result<(), Failed<D>> {
        self.fit(parts.iter().chain(verdicts).copied(), scale)?;
        let update = |number: usize, device: &D| {
            let (parts, verdicts) = (on(parts, number), on(verdicts, number));
            device.update(&mut scale.0[number], &parts, &verdicts, rule)
        };
        self.change(update).map(drop)
    }

    /// Downloads the state of every device, since each records its own missing gradients. If the scales differ, this and every later call is an
    /// error.
    fn read(
        &self,
        found: &[&ModelFound<D::Found>],
        scale: &PerDevice<D::Scale>,
    ) -> Result<(Vec<FoundInf>, ScaleState), Failed<D>> {
        self.fit(found.iter().copied(), scale)?;
        let read = |number: usize, device: &D| device.read(&on(found, number), &scale.0[number]);
        let mut reports = self.each(read)?;
        let (mut findings, state) = reports.remove(0);
        for (others, other) in reports {
            if other != state {
                return Err(self.come_apart(format!("scales differ: {state:?} and {other:?}")));
            }
            for (finding, other) in findings.iter_mut().zip(others) {
                finding.missing.extend(other.missing);
            }
        }
        for (finding, found) in findings.iter_mut().zip(found) {
            let place = |name: &Arc<str>| found.names.iter().position(|other| other == name);
            finding.missing.sort_by_key(place);
        }
        Ok((findings, state))
    }

    fn is_ready(
        &self,
        found: &[&ModelFound<D::Found>],
        scale: &PerDevice<D::Scale>,
    ) -> Result<bool, Failed<D>> {
        self.fit(found.iter().copied(), scale)?;
        let ready =
            |number: usize, device: &D| device.is_ready(&on(found, number), &scale.0[number]);
        Ok(self.each(ready)?.into_iter().all(|ready| ready))
    }

    /// Uploads the found-inf result to every device. Only the first gets the names of missing gradients, so that they are read once.
    fn upload_found(&self, found: &FoundInf) -> Result<ModelFound<D::Found>, Failed<D>> {
        let others = FoundInf { missing: Vec::new(), ..found.clone() };
        let part = |number: usize, device: &D| {
            device.upload_found(if number == 0 { found } else { &others })
        };
        Ok(ModelFound { parts: self.each(part)?, names: found.missing.clone().into() })
    }
}

/// Returns the found-inf results of the device with this number.
fn on<'f, F>(found: &[&'f ModelFound<F>], number: usize) -> Vec<&'f F> {
    found.iter().map(|found| &found.parts[number]).collect()
}
