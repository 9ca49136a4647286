//! The scale is the device's.

use super::Taped;
use crate::{Device, ops::Failed};
use binade_core::Finding;
use binade_grad_scaler::{Join, LossScale, ScaleState, ScaleStore};

impl<D: Device + ScaleStore> ScaleStore for Taped<D> {
    type Scale = D::Scale;

    fn upload_state(&self, state: ScaleState) -> Result<D::Scale, Failed<D>> {
        Ok(self.0.upload_state(state)?)
    }

    fn merge(&self, into: &mut D::Found, from: &D::Found, join: Join) -> Result<(), Failed<D>> {
        Ok(self.0.merge(into, from, join)?)
    }

    fn update(
        &self,
        scale: &mut D::Scale,
        parts: &[&D::Found],
        verdicts: &[&D::Found],
        rule: &LossScale,
    ) -> Result<(), Failed<D>> {
        Ok(self.0.update(scale, parts, verdicts, rule)?)
    }

    fn read(
        &self,
        found: &[&D::Found],
        scale: &D::Scale,
    ) -> Result<(Vec<Finding>, ScaleState), Failed<D>> {
        Ok(self.0.read(found, scale)?)
    }

    fn is_ready(&self, found: &[&D::Found], scale: &D::Scale) -> Result<bool, Failed<D>> {
        Ok(self.0.is_ready(found, scale)?)
    }
}
