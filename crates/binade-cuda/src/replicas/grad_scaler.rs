//! Scaling losses, looking at gradients, and sets of them.

use super::{
    JointGradients, Parts, Replicas,
    master_weights::{Params, first},
};
use crate::{Cuda, CudaError, Error, Found, Gradients, Scale, Tensor};
use binade_core::{Named, NamedGrads, RawTensor, TensorSpec};
use binade_grad_scaler::{ClipGroup, GradOps, GradScaler, Loss, Norm};

impl Loss<Replicas> for Parts<Tensor> {
    type Error = Error;

    fn scaled(&self, replicas: &Replicas, scale: &Parts<Scale>) -> Result<Self, Error> {
        replicas.each(|place, cuda| self.on(place)?.scaled(cuda, scale.on(place)?))
    }

    /// Unscales each device's own gradient. A gradient of no optimizer is not averaged.
    fn unscaled(&self, replicas: &Replicas, scale: &Parts<Scale>) -> Result<Self, Error> {
        replicas.each(|place, cuda| self.on(place)?.unscaled(cuda, scale.on(place)?))
    }
}

impl GradScaler for Replicas {
    fn unscale(
        &self,
        grads: &mut JointGradients,
        scale: &Parts<Scale>,
    ) -> Result<Parts<Found>, Error> {
        self.refuse_capture("unscale")?;
        self.fill_up(grads)?;
        let found =
            self.each(|place, cuda| cuda.unscale(grads.parts.on_mut(place)?, scale.on(place)?))?;
        // What is the average already is the same everywhere, and so is what was found in it.
        if grads.is_joint || self.devices().len() == 1 {
            grads.is_joint = true;
            return Ok(found);
        }
        self.average(grads, &found)
    }
}

impl Replicas {
    /// Refuses what is not one set for each device, of one model. A set that has no gradient at all knows no devices.
    fn fill_up(&self, grads: &mut JointGradients) -> Result<(), Error> {
        let (devices, found) = (self.devices().len(), grads.parts.0.len());
        let is_empty = |set: &Gradients| set.present().next().is_none();
        if found == 1 && grads.on(0).is_ok_and(is_empty) {
            grads.parts = Parts(vec![grads.on(0)?.clone(); devices]);
        } else if found != devices {
            return Err(Error::Driver(CudaError::Parts { found, devices }));
        }
        if !grads.is_joint && grads.parts.0.iter().any(|set| set.present.is_some()) {
            return Err(Error::Driver(CudaError::Window));
        }
        Ok(grads.agree()?)
    }
}

impl GradOps for Replicas {
    fn clip_norm(
        &self,
        grads: &mut JointGradients,
        norm: Norm,
        max: f32,
        verdict: &mut Parts<Found>,
    ) -> Result<(), Error> {
        let clip = |place, cuda: &Cuda| {
            cuda.clip_norm(grads.parts.on_mut(place)?, norm, max, verdict.on_mut(place)?)
        };
        self.change(clip).map(drop)
    }

    fn clip_value(&self, grads: &mut JointGradients, max: f32) -> Result<(), Error> {
        self.change(|place, cuda| cuda.clip_value(grads.parts.on_mut(place)?, max)).map(drop)
    }

    fn accumulate(
        &self,
        sum: Option<JointGradients>,
        grads: JointGradients,
        found: &Parts<Found>,
    ) -> Result<JointGradients, Error> {
        // Averages are the same everywhere, and so are their sums.
        if !grads.is_joint || sum.as_ref().is_some_and(|sum| !sum.is_joint) {
            return Err(Error::Driver(CudaError::NotAveraged));
        }
        let mut sums = sum.map(|sum| sum.parts.0.into_iter());
        let added = self.each(|place, cuda| {
            let sum = sums.as_mut().and_then(Iterator::next);
            cuda.accumulate(sum, grads.on(place)?.clone(), found.on(place)?)
        })?;
        Ok(JointGradients::joint(added))
    }

    fn clip_groups(
        &self,
        grads: &mut JointGradients,
        groups: &[ClipGroup],
        verdict: &mut Parts<Found>,
    ) -> Result<(), Error> {
        let clip = |place, cuda: &Cuda| {
            cuda.clip_groups(grads.parts.on_mut(place)?, groups, verdict.on_mut(place)?)
        };
        self.change(clip).map(drop)
    }

    fn grad_specs(&self, params: &Params) -> Result<Vec<Named<TensorSpec>>, Error> {
        self.first(|cuda| cuda.grad_specs(&first(params)?))
    }

    /// The first device's, which is the average.
    fn save_grads(&self, grads: &JointGradients) -> Result<NamedGrads<RawTensor>, Error> {
        if !grads.is_joint {
            return Err(Error::Driver(CudaError::NotAveraged));
        }
        self.first(|cuda| cuda.save_grads(grads.on(0)?))
    }

    fn load_grads(
        &self,
        params: &Params,
        saved: &NamedGrads<RawTensor>,
    ) -> Result<JointGradients, Error> {
        let params = first(params)?;
        self.each(|_, cuda| cuda.load_grads(&params, saved)).map(JointGradients::joint)
    }
}
