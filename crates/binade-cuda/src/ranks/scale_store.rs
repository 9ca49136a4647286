//! The scale, on each rank's device, moved by the same rule with the same findings.

use super::CudaRank;
use crate::{Error, Found, Scale};
use binade_core::FoundInf;
use binade_grad_scaler::{LossScale, MergeRule, ScaleState, ScaleStore};

impl ScaleStore for CudaRank {
    type Scale = Scale;

    /// Forgets models where a scale is new: in earlier training parameters of the same names may have been others.
    fn upload_state(&self, state: ScaleState) -> Result<Scale, Error> {
        if state.updates == 0 {
            self.models().clear();
        }
        self.alone(|cuda| cuda.upload_state(state))
    }

    fn merge(&self, into: &mut Found, from: &Found, join: MergeRule) -> Result<(), Error> {
        self.alone(|cuda| cuda.merge(into, from, join))
    }

    fn update(
        &self,
        scale: &mut Scale,
        parts: &[&Found],
        verdicts: &[&Found],
        rule: &LossScale,
    ) -> Result<(), Error> {
        self.settles(rule);
        self.alone(|cuda| cuda.update(scale, parts, verdicts, rule))
    }

    /// Waits for the report as long as the communicator knows of no failure and patience lasts. A halted result may mean that ranks differ, which is
    /// an error.
    fn read(&self, found: &[&Found], scale: &Scale) -> Result<(Vec<FoundInf>, ScaleState), Error> {
        self.kept(self.communicator().wait_for(|| self.cuda().is_ready(found, scale)))?;
        let (findings, state) = self.alone(|cuda| ScaleStore::read(cuda, found, scale))?;
        if found.is_empty() || findings.iter().any(|finding| finding.halted) {
            self.compare()?;
        }
        Ok((findings, state))
    }

    fn is_ready(&self, found: &[&Found], scale: &Scale) -> Result<bool, Error> {
        self.alone(|cuda| cuda.is_ready(found, scale))
    }

    fn upload_found(&self, found: &FoundInf) -> Result<Found, Error> {
        self.alone(|cuda| cuda.upload_found(found))
    }
}
