//! Loss scaling: losses in candle's graph, sets of gradients on the host.

use crate::elements::{read_grads, write_grads};
use crate::{Candle, Error};
use binade_core::{Finding, NamedGrads};
use binade_grad_scaler::{ClipGroup, ClipGroups, GradOps, GradScaler, HostScale, Norm, ScaleState};
use candle_core::{DType, Tensor};

impl HostScale for Candle {}

impl GradScaler for Candle {
    type Grads = NamedGrads<Tensor>;

    fn scale(&self, tensor: &Tensor, scale: &ScaleState) -> Result<Tensor, Error> {
        times(tensor, scale.factor())
    }

    fn unscale_tensor(&self, tensor: &Tensor, scale: &ScaleState) -> Result<Tensor, Error> {
        times(tensor, scale.inverse())
    }

    fn unscale(
        &self,
        grads: &mut NamedGrads<Tensor>,
        scale: &ScaleState,
    ) -> Result<Finding, Error> {
        let mut elements = read_grads(grads)?;
        let found = Self::HOST.unscale(&mut elements, scale)?;
        *grads = write_grads(elements)?;
        Ok(found)
    }
}

impl GradOps for Candle {
    fn clip_norm(
        &self,
        grads: &mut NamedGrads<Tensor>,
        norm: Norm,
        max: f32,
        verdict: &mut Finding,
    ) -> Result<(), Error> {
        let mut elements = read_grads(grads)?;
        Self::HOST.clip_norm(&mut elements, norm, max, verdict)?;
        *grads = write_grads(elements)?;
        Ok(())
    }

    fn clip_value(&self, grads: &mut NamedGrads<Tensor>, max: f32) -> Result<(), Error> {
        let mut elements = read_grads(grads)?;
        Self::HOST.clip_value(&mut elements, max)?;
        *grads = write_grads(elements)?;
        Ok(())
    }

    fn accumulate(
        &self,
        sum: Option<NamedGrads<Tensor>>,
        grads: NamedGrads<Tensor>,
        found: &Finding,
    ) -> Result<NamedGrads<Tensor>, Error> {
        let sum = sum.as_deref().map(read_grads).transpose()?;
        write_grads(Self::HOST.accumulate(sum, read_grads(&grads)?, found)?)
    }
}

impl ClipGroups for Candle {
    fn clip_groups(
        &self,
        grads: &mut NamedGrads<Tensor>,
        groups: &[ClipGroup],
        verdict: &mut Finding,
    ) -> Result<(), Error> {
        let mut elements = read_grads(grads)?;
        Self::HOST.clip_groups(&mut elements, groups, verdict)?;
        *grads = write_grads(elements)?;
        Ok(())
    }
}

/// `tensor * factor` in `f32`. Not candle's `affine`, which adds 0 and so makes a zero of -0.
fn times(tensor: &Tensor, factor: f32) -> Result<Tensor, Error> {
    let factor = Tensor::new(factor, tensor.device())?;
    Ok(tensor.to_dtype(DType::F32)?.broadcast_mul(&factor)?)
}
