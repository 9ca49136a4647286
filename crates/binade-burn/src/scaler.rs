//! Loss scaling.

use crate::device::HOST;
use crate::{Burn, BurnTensor, Error, TensorError};
use binade_core::{FoundInf, NamedGrads};
use binade_grad_scaler::{GradScaler, Loss, ScaleState};

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
