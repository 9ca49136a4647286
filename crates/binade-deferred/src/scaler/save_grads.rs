//! Windows as bytes, and back: saving waits, and counts as a read.

use super::Found;
use crate::{Deferred, Error, Gradients, Tensor, late::Late, stand_in, tensor::Like};
use binade_core::{DType, Finding, Form, Named, NamedGrads, RawTensor};
use binade_cpu::Cpu;
use binade_grad_scaler::SaveGrads;

impl SaveGrads for Deferred {
    fn grad_forms(&self, params: &Vec<Named<Tensor>>) -> Result<Vec<Named<Form>>, Error> {
        let form = |param: &Named<Tensor>| {
            Named::new(param.name.clone(), Form::new(DType::F32, param.value.shape()))
        };
        Ok(params.iter().map(form).collect())
    }

    fn save_grads(&self, grads: &Gradients) -> Result<NamedGrads<RawTensor>, Error> {
        self.look("save_grads")?;
        Ok(Cpu.save_grads(&grads.clone().take()?)?)
    }

    fn load_grads(
        &self,
        params: &Vec<Named<Tensor>>,
        saved: &NamedGrads<RawTensor>,
    ) -> Result<Gradients, Error> {
        let set = Cpu.load_grads(&stand_in::parameters(params)?, saved)?;
        let like = |grad: &RawTensor| {
            let Form { dtype, shape } = grad.form().clone();
            Like { shape, dtype }
        };
        let one = |grad: &Named<Option<RawTensor>>| Named {
            name: grad.name.clone(),
            value: grad.value.as_ref().map(like),
        };
        Ok(Gradients::later(saved.iter().map(one).collect(), Late::known(set)))
    }

    fn upload_found(&self, found: &Finding) -> Result<Found, Error> {
        Ok(Found(Late::known(found.clone())))
    }
}
