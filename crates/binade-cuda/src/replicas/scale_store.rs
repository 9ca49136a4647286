//! The scale, once on each device, moved by the same rule with the same findings.

use super::{Parts, Replicas};
use crate::{Cuda, CudaError, Error, Found, Scale};
use binade_core::FoundInf;
use binade_grad_scaler::{LossScale, MergeRule, ScaleState, ScaleStore};

impl ScaleStore for Replicas {
    type Scale = Parts<Scale>;

    fn upload_state(&self, state: ScaleState) -> Result<Parts<Scale>, Error> {
        self.each(|_, cuda| cuda.upload_state(state))
    }

    fn merge(
        &self,
        into: &mut Parts<Found>,
        from: &Parts<Found>,
        join: MergeRule,
    ) -> Result<(), Error> {
        let merge = |place, cuda: &Cuda| cuda.merge(into.on_mut(place)?, from.on(place)?, join);
        self.change(merge).map(drop)
    }

    fn update(
        &self,
        scale: &mut Parts<Scale>,
        parts: &[&Parts<Found>],
        verdicts: &[&Parts<Found>],
        rule: &LossScale,
    ) -> Result<(), Error> {
        self.refuse_capture("update")?;
        let update = |place, cuda: &Cuda| {
            let (parts, verdicts) = (on(parts, place)?, on(verdicts, place)?);
            cuda.update(scale.on_mut(place)?, &parts, &verdicts, rule)
        };
        self.change(update).map(drop)
    }

    /// Every device's report is read, since each tells of its own bad indices; that the scales in them are alike is held to.
    fn read(
        &self,
        found: &[&Parts<Found>],
        scale: &Parts<Scale>,
    ) -> Result<(Vec<FoundInf>, ScaleState), Error> {
        let read =
            |place, cuda: &Cuda| ScaleStore::read(cuda, &on(found, place)?, scale.on(place)?);
        let reports = self.each(read)?.0;
        let states: Vec<_> = reports.iter().map(|(_, state)| state).collect();
        if let Some(pair) = states.windows(2).find(|pair| pair[0] != pair[1]) {
            return Err(self.come_apart(&format!("scales differ: {pair:?}")));
        }
        reports.into_iter().next().ok_or(Error::Driver(CudaError::NoReplicas))
    }

    fn is_ready(&self, found: &[&Parts<Found>], scale: &Parts<Scale>) -> Result<bool, Error> {
        let ready = |place, cuda: &Cuda| cuda.is_ready(&on(found, place)?, scale.on(place)?);
        Ok(self.each(ready)?.0.iter().all(|ready| *ready))
    }

    fn upload_found(&self, found: &FoundInf) -> Result<Parts<Found>, Error> {
        self.each(|_, cuda| cuda.upload_found(found))
    }
}

/// The parts on one device.
fn on<'f>(found: &[&'f Parts<Found>], place: usize) -> Result<Vec<&'f Found>, Error> {
    found.iter().map(|found| found.on(place)).collect()
}
