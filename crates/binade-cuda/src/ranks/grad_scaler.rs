//! Scaling losses, unscaling, in which ranks communicate, and arithmetic on averages.

use super::{
    CudaRank, RankGradients,
    average::form,
    meeting::{Call, Statement},
};
use crate::{CudaError, Error, Found, Scale, Tensor};
use binade_core::{GradSet, Named, NamedGrads, RawTensor, TensorSpec, TrainError};
use binade_gpu::Driver;
use binade_grad_scaler::{ClipGroup, GradOps, GradScaler, Loss, Norm};

impl Loss<CudaRank> for Tensor {
    type Error = Error;

    fn scaled(&self, rank: &CudaRank, scale: &Scale) -> Result<Self, Error> {
        rank.alone(|cuda| self.scaled(cuda, scale))
    }

    fn unscaled(&self, rank: &CudaRank, scale: &Scale) -> Result<Self, Error> {
        rank.alone(|cuda| self.unscaled(cuda, scale))
    }
}

impl GradScaler for CudaRank {
    fn unscale(&self, grads: &mut RankGradients, scale: &Scale) -> Result<Found, Error> {
        self.communicator().check()?;
        let cuda = self.cuda();
        cuda.check_owner(&scale.bits)?;
        if grads.is_average || self.communicator().ranks() == 1 {
            let call = if grads.is_average { Call::UnscaleAverage } else { Call::Unscale };
            let found = cuda.unscale(&mut grads.set, scale)?;
            grads.is_average = true;
            let (model, bits) = (form(&grads.set), (&*scale.bits, &*found.bits));
            let (scale, own) = bits;
            let joint = self.meet(&Statement { call, model, scale, found: own, numbers: None })?;
            return Ok(found.joint(joint, None));
        }
        if let Some(place) = grads.set.rows.keys().next() {
            let parameter = grads.set.entries[*place].name.clone();
            let why = "ranks average whole gradients";
            return Err(TrainError::SparseStep { parameter, why }.into());
        }
        if grads.set.present.is_some() {
            return Err(Error::Driver(CudaError::Window));
        }
        grads.set.present().try_for_each(|grad| cuda.check_owner(grad.tensor.buffer()))?;
        if grads.set.owed.is_some() {
            grads.set = cuda.materialise(grads.set.clone())?.into();
        }
        let (average, found) = self.average(&grads.set, scale)?;
        *grads = RankGradients::average(average);
        Ok(found)
    }
}

impl GradOps for CudaRank {
    fn clip_norm(
        &self,
        grads: &mut RankGradients,
        norm: Norm,
        max: f32,
        verdict: &mut Found,
    ) -> Result<(), Error> {
        let set = grads.averaged()?;
        self.settles((norm, max.to_bits()));
        self.alone(|cuda| cuda.clip_norm(set, norm, max, verdict))
    }

    fn clip_value(&self, grads: &mut RankGradients, max: f32) -> Result<(), Error> {
        let set = grads.averaged()?;
        self.settles(("value", max.to_bits()));
        self.alone(|cuda| cuda.clip_value(set, max))
    }

    fn clip_groups(
        &self,
        grads: &mut RankGradients,
        groups: &[ClipGroup],
        verdict: &mut Found,
    ) -> Result<(), Error> {
        let set = grads.averaged()?;
        self.settles(groups);
        self.alone(|cuda| cuda.clip_groups(set, groups, verdict))
    }

    fn accumulate(
        &self,
        sum: Option<RankGradients>,
        grads: RankGradients,
        found: &Found,
    ) -> Result<RankGradients, Error> {
        let (sum, grads) =
            (sum.map(RankGradients::into_average).transpose()?, grads.into_average()?);
        self.alone(|cuda| cuda.accumulate(sum, grads, found)).map(RankGradients::average)
    }

    fn grad_specs(&self, params: &Vec<Named<Tensor>>) -> Result<Vec<Named<TensorSpec>>, Error> {
        self.alone(|cuda| cuda.grad_specs(params))
    }

    fn save_grads(&self, grads: &RankGradients) -> Result<NamedGrads<RawTensor>, Error> {
        if !grads.is_average {
            return Err(Error::Driver(CudaError::NotAveraged));
        }
        self.alone(|cuda| cuda.save_grads(&grads.set))
    }

    fn load_grads(
        &self,
        params: &Vec<Named<Tensor>>,
        saved: &NamedGrads<RawTensor>,
    ) -> Result<RankGradients, Error> {
        self.alone(|cuda| cuda.load_grads(params, saved)).map(RankGradients::average)
    }
}
