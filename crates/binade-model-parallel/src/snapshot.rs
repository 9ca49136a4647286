//! Saving and loading of the whole model's parameters and optimizer state, in the model's order.

use crate::{ModelDevice, ModelMasters, ModelParallel, masters::Params};
use binade_core::Named;
use binade_master_weights::{
    LoadError, MasterWeights, ParameterSpec, SavedParameter, Snapshot, check_saved,
};

type Masters<D> = ModelMasters<<D as MasterWeights>::Masters>;

impl<D: ModelDevice + Snapshot> Snapshot for ModelParallel<D> {
    fn specs(
        &self,
        params: &Params<D>,
        masters: &Masters<D>,
    ) -> Result<Vec<ParameterSpec>, Self::Error> {
        self.fits(masters.parts.len())?;
        self.of_params(params, |number, it, own| it.specs(own, &masters.parts[number]))
    }

    fn save(
        &self,
        params: &Params<D>,
        masters: &Masters<D>,
    ) -> Result<Vec<SavedParameter>, Self::Error> {
        self.fits(masters.parts.len())?;
        self.of_params(params, |number, it, own| it.save(own, &masters.parts[number]))
    }

    /// Each device loads its own parameters. Nothing has changed if `saved` does not fit.
    fn load(
        &self,
        params: &mut Params<D>,
        masters: &mut Masters<D>,
        saved: &[SavedParameter],
    ) -> Result<(), LoadError<Self::Error>> {
        let specs = self.specs(params, masters).map_err(LoadError::Device)?;
        let saved = check_saved(&specs, saved)?;
        let mut lists = vec![Vec::new(); self.devices().len()];
        for (param, saved) in params.iter().zip(saved) {
            lists[param.value.device].push(saved.clone());
        }
        let mut misfit = None;
        let loaded = self.with_params(params, |sets| {
            self.change(|number, device| {
                let (set, masters) = (&mut sets[number], &mut masters.parts[number]);
                match device.load(set, masters, &lists[number]) {
                    Ok(()) => Ok(()),
                    Err(LoadError::Device(error)) => Err(error),
                    Err(LoadError::SpecMismatch(error)) => {
                        misfit = Some(error);
                        Ok(())
                    }
                }
            })
        });
        loaded.map_err(LoadError::Device)?;
        match misfit {
            None => Ok(()),
            // The specs come from the devices themselves.
            Some(error) => Err(LoadError::Device(self.come_apart(error.to_string()))),
        }
    }

    fn export_f32(
        &self,
        params: &Params<D>,
        masters: &Masters<D>,
    ) -> Result<Vec<Named<Vec<f32>>>, Self::Error> {
        self.fits(masters.parts.len())?;
        self.of_params(params, |number, it, own| it.export_f32(own, &masters.parts[number]))
    }
}
