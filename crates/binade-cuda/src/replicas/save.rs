//! Saving, from the first device, and loading, to all.

use super::{JointGradients, Parts, Replicas, master_weights::first};
use crate::{Error, Found, Masters, Tensor};
use binade_core::{Finding, Form, Named, NamedGrads, RawTensor};
use binade_grad_scaler::SaveGrads;
use binade_master_weights::{LoadError, ParameterForm, SavedParameter, Snapshot};

/// Parameters with a part on each device.
type Params = Vec<Named<Parts<Tensor>>>;

impl Snapshot for Replicas {
    fn forms(
        &self,
        params: &Params,
        masters: &Parts<Masters>,
    ) -> Result<Vec<ParameterForm>, Error> {
        self.first(|cuda| cuda.forms(&first(params)?, masters.on(0)?))
    }

    fn save(
        &self,
        params: &Params,
        masters: &Parts<Masters>,
    ) -> Result<Vec<SavedParameter>, Error> {
        self.first(|cuda| cuda.save(&first(params)?, masters.on(0)?))
    }

    fn load(
        &self,
        params: &mut Params,
        masters: &mut Parts<Masters>,
        saved: &[SavedParameter],
    ) -> Result<(), LoadError<Error>> {
        // What does not fit is told in the words of the device, and what a device cannot do in its own.
        let mut misfit = None;
        let loaded = self.on_each(params, |place, cuda, params| {
            match cuda.load(params, masters.on_mut(place)?, saved) {
                Ok(()) => Ok(()),
                Err(LoadError::Device(error)) => Err(error),
                Err(LoadError::Misfit(why)) => {
                    let cause = why.to_string();
                    misfit = Some(why);
                    Err(Error::Apart { cause })
                }
            }
        });
        match (loaded, misfit) {
            (Ok(_), _) => Ok(()),
            (Err(_), Some(misfit)) => Err(misfit.into()),
            (Err(error), None) => Err(LoadError::Device(error)),
        }
    }
}

impl SaveGrads for Replicas {
    fn grad_forms(&self, params: &Params) -> Result<Vec<Named<Form>>, Error> {
        self.first(|cuda| cuda.grad_forms(&first(params)?))
    }

    /// The first device's, which is the average.
    fn save_grads(&self, grads: &JointGradients) -> Result<NamedGrads<RawTensor>, Error> {
        if !grads.is_joint {
            return Err(Error::NotAveraged);
        }
        self.first(|cuda| cuda.save_grads(grads.on(0)?))
    }

    fn load_grads(
        &self,
        params: &Params,
        saved: &NamedGrads<RawTensor>,
    ) -> Result<JointGradients, Error> {
        let params = first(params)?;
        let parts = self.each(|_, cuda| cuda.load_grads(&params, saved))?;
        Ok(JointGradients::joint(parts.into_inner()))
    }

    fn upload_found(&self, found: &Finding) -> Result<Parts<Found>, Error> {
        self.each(|_, cuda| cuda.upload_found(found))
    }
}
