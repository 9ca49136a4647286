//! Masters are the device's.

use super::Taped;
use crate::{Device, ops::Failed};
use binade_master_weights::{MasterWeights, Plan};

impl<D: Device + MasterWeights> MasterWeights for Taped<D> {
    type Masters = D::Masters;

    fn masters(&self, params: &mut D::Params, plan: &Plan) -> Result<D::Masters, Failed<D>> {
        Ok(self.0.masters(params, plan)?)
    }

    fn set_plan(&self, masters: &mut D::Masters, plan: &Plan) -> Result<(), Failed<D>> {
        Ok(self.0.set_plan(masters, plan)?)
    }

    fn step(
        &self,
        params: &mut D::Params,
        masters: &mut D::Masters,
        grads: D::Grads,
        found: &D::Found,
    ) -> Result<(), Failed<D>> {
        Ok(self.0.step(params, masters, grads, found)?)
    }
}
