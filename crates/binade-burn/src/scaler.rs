//! Loss scaling.

use crate::device::HOST;
use crate::{Burn, BurnTensor, Error, TensorError};
use binade_core::{FoundInf, Named, NamedGrads, RawTensor, TensorSpec};
use binade_grad_scaler::{ClipGroup, GradOps, GradScaler, Loss, Norm, ScaleState};

impl Loss<Burn> for BurnTensor {
    type Error = Error;

    fn scaled(&self, _: &Burn, scale: &ScaleState) -> Result<Self, Error> {
        Loss::scaled(self, &HOST, scale)
    }

    fn unscaled(&self, _: &Burn, scale: &ScaleState) -> Result<Self, Error> {
        Loss::unscaled(self, &HOST, scale)
    }
}

impl GradScaler for Burn {
    fn unscale(
        &self,
        grads: &mut NamedGrads<BurnTensor>,
        scale: &ScaleState,
    ) -> Result<FoundInf, Error> {
        // Waits for the backward pass, whose failure is an error here; reading the gradient would be a panic.
        for grad in grads.iter().filter_map(|grad| grad.value.as_ref()) {
            grad.device().sync().map_err(TensorError::from)?;
        }
        HOST.unscale(grads, scale)
    }
}

impl GradOps for Burn {
    fn clip_norm(
        &self,
        grads: &mut NamedGrads<BurnTensor>,
        norm: Norm,
        max: f32,
        verdict: &mut FoundInf,
    ) -> Result<(), Error> {
        HOST.clip_norm(grads, norm, max, verdict)
    }

    fn clip_value(&self, grads: &mut NamedGrads<BurnTensor>, max: f32) -> Result<(), Error> {
        HOST.clip_value(grads, max)
    }

    fn accumulate(
        &self,
        sum: Option<NamedGrads<BurnTensor>>,
        grads: NamedGrads<BurnTensor>,
        found: &FoundInf,
    ) -> Result<NamedGrads<BurnTensor>, Error> {
        HOST.accumulate(sum, grads, found)
    }

    fn clip_groups(
        &self,
        grads: &mut NamedGrads<BurnTensor>,
        groups: &[ClipGroup],
        verdict: &mut FoundInf,
    ) -> Result<(), Error> {
        HOST.clip_groups(grads, groups, verdict)
    }

    fn grad_specs(&self, params: &Vec<Named<BurnTensor>>) -> Result<Vec<Named<TensorSpec>>, Error> {
        HOST.grad_specs(params)
    }

    fn save_grads(&self, grads: &NamedGrads<BurnTensor>) -> Result<NamedGrads<RawTensor>, Error> {
        HOST.save_grads(grads)
    }

    fn load_grads(
        &self,
        params: &Vec<Named<BurnTensor>>,
        saved: &NamedGrads<RawTensor>,
    ) -> Result<NamedGrads<BurnTensor>, Error> {
        HOST.load_grads(params, saved)
    }
}
