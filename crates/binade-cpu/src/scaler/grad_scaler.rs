//! Scaling of losses, and inspection of gradients.

use super::each;
use crate::gradients::inspect;
use crate::{Cpu, Error, Gradients, Tensor};
use binade_core::{DType, FoundInf};
use binade_grad_scaler::{GradScaler, Loss, ScaleState, ScaleStore};
use binade_master_weights::step::Factor;

/// Loss of the CPU, and of devices that wrap the CPU.
impl<D: ScaleStore<Scale = ScaleState, Error: From<Error>>> Loss<D> for Tensor {
    type Error = D::Error;

    fn scaled(&self, _: &D, scale: &ScaleState) -> Result<Self, D::Error> {
        Ok(times(self, scale.factor())?)
    }

    fn unscaled(&self, _: &D, scale: &ScaleState) -> Result<Self, D::Error> {
        Ok(times(self, scale.inverse())?)
    }
}

impl GradScaler for Cpu {
    fn unscale(&self, grads: &mut Gradients, scale: &ScaleState) -> Result<FoundInf, Error> {
        if grads.factor != Factor::ONE {
            *grads = grads.apply_factors()?;
        }
        let (mut found, measured) = inspect(grads, scale.inverse())?;
        found.halted = scale.diverged;
        grads.factor.inverse = scale.inverse();
        grads.measured = Some(measured);
        Ok(found)
    }
}

fn times(tensor: &Tensor, factor: f32) -> Result<Tensor, Error> {
    let mut product = tensor.cast(DType::F32)?;
    each(&mut product, |x| x * factor);
    Ok(product)
}
