//! What is saved is the device's.

use super::Taped;
use crate::{Device, TapeError, ops::Failed};
use binade_core::{Finding, Form, Named, NamedGrads, RawTensor};
use binade_grad_scaler::SaveGrads;
use binade_master_weights::{LoadError, ParameterForm, SavedParameter, Snapshot};

impl<D: Device + Snapshot> Snapshot for Taped<D> {
    fn forms(
        &self,
        params: &D::Params,
        masters: &D::Masters,
    ) -> Result<Vec<ParameterForm>, Failed<D>> {
        Ok(self.0.forms(params, masters)?)
    }

    fn save(
        &self,
        params: &D::Params,
        masters: &D::Masters,
    ) -> Result<Vec<SavedParameter>, Failed<D>> {
        Ok(self.0.save(params, masters)?)
    }

    fn load(
        &self,
        params: &mut D::Params,
        masters: &mut D::Masters,
        saved: &[SavedParameter],
    ) -> Result<(), LoadError<Failed<D>>> {
        self.0.load(params, masters, saved).map_err(|error| match error {
            LoadError::Misfit(misfit) => LoadError::Misfit(misfit),
            LoadError::Device(error) => LoadError::Device(TapeError::from(error)),
        })
    }
}

impl<D> SaveGrads for Taped<D>
where
    D: Device + SaveGrads<Scale: Send + Sync + 'static>,
{
    fn grad_forms(&self, params: &D::Params) -> Result<Vec<Named<Form>>, Failed<D>> {
        Ok(self.0.grad_forms(params)?)
    }

    fn save_grads(&self, grads: &D::Grads) -> Result<NamedGrads<RawTensor>, Failed<D>> {
        Ok(self.0.save_grads(grads)?)
    }

    fn load_grads(
        &self,
        params: &D::Params,
        saved: &NamedGrads<RawTensor>,
    ) -> Result<D::Grads, Failed<D>> {
        Ok(self.0.load_grads(params, saved)?)
    }

    fn upload_found(&self, found: &Finding) -> Result<D::Found, Failed<D>> {
        Ok(self.0.upload_found(found)?)
    }
}
