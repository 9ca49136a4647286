//! Saving, from the first device, and loading, to all.

use super::{
    Parts, Replicas,
    master_weights::{Params, first},
};
use crate::{CudaError, Error, Masters};
use binade_core::Named;
use binade_master_weights::{LoadError, ParameterSpec, SavedParameter, Snapshot};

impl Snapshot for Replicas {
    fn specs(
        &self,
        params: &Params,
        masters: &Parts<Masters>,
    ) -> Result<Vec<ParameterSpec>, Error> {
        self.first(|cuda| cuda.specs(&first(params)?, masters.on(0)?))
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
                Err(LoadError::SpecMismatch(why)) => {
                    let cause = why.to_string();
                    misfit = Some(why);
                    Err(Error::Driver(CudaError::Apart { cause }))
                }
            }
        });
        match (loaded, misfit) {
            (Ok(_), _) => Ok(()),
            (Err(_), Some(misfit)) => Err(misfit.into()),
            (Err(error), None) => Err(LoadError::Device(error)),
        }
    }

    /// The first device's.
    fn export_f32(
        &self,
        params: &Params,
        masters: &Parts<Masters>,
    ) -> Result<Vec<Named<Vec<f32>>>, Error> {
        self.first(|cuda| cuda.export_f32(&first(params)?, masters.on(0)?))
    }
}
