//! Parameters and their state as bytes, and back: both wait, and count as a read.

use super::{Masters, Params};
use crate::{Deferred, Error, Tensor, stand_in};
use binade_core::{Form, Named};
use binade_cpu::Cpu;
use binade_master_weights::{Kind, LoadError, ParameterForm, SavedParameter, Snapshot};

impl Snapshot for Deferred {
    fn forms(&self, params: &Params, masters: &Masters) -> Result<Vec<ParameterForm>, Error> {
        let likes = stand_in::parameters(params)?;
        let sampled = Cpu.forms(&likes, &masters.sample)?;
        Ok(params.iter().zip(sampled).map(|(param, sampled)| whole(param, sampled)).collect())
    }

    fn save(&self, params: &Params, masters: &Masters) -> Result<Vec<SavedParameter>, Error> {
        self.look("save")?;
        Ok(Cpu.save(&computed(params)?, &masters.now()?)?)
    }

    fn load(
        &self,
        params: &mut Params,
        masters: &mut Masters,
        saved: &[SavedParameter],
    ) -> Result<(), LoadError<Error>> {
        self.look("load").map_err(LoadError::Device)?;
        let mut values = computed(params).map_err(LoadError::Device)?;
        let mut state = masters.now().map_err(LoadError::Device)?;
        Cpu.load(&mut values, &mut state, saved).map_err(|error| match error {
            LoadError::Misfit(misfit) => LoadError::Misfit(misfit),
            LoadError::Device(error) => LoadError::Device(error.into()),
        })?;
        masters.replace(state);
        for (param, value) in params.iter_mut().zip(values) {
            param.value = value.value.into();
        }
        Ok(())
    }

    fn export_f32(
        &self,
        params: &Params,
        masters: &Masters,
    ) -> Result<Vec<Named<Vec<f32>>>, Error> {
        self.look("export_f32")?;
        Ok(Cpu.export_f32(&computed(params)?, &masters.now()?)?)
    }
}

/// Returns the form of a parameter, which is known without running: that of the sample, which has no element, under the real
/// shapes.
fn whole(param: &Named<Tensor>, sampled: ParameterForm) -> ParameterForm {
    let ParameterForm { name, value, kept } = sampled;
    let shape = param.value.shape();
    let form = |(kind, sampled): (Kind, Form)| {
        // The type is the same for any shape: the sample's.
        (kind, Form { dtype: sampled.dtype, ..kind.form(value.dtype, shape) })
    };
    let kept = kept.into_iter().map(form).collect();
    ParameterForm { name, value: Form::new(value.dtype, shape), kept }
}

/// Returns the parameters as they are once the queue has run.
fn computed(params: &Params) -> Result<Vec<Named<binade_cpu::Tensor>>, Error> {
    let one = |param: &Named<Tensor>| {
        let value = param.value.value().get()?.clone();
        Ok(Named { name: param.name.clone(), value })
    };
    params.iter().map(one).collect()
}
