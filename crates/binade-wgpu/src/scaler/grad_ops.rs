//! Clipping, adding and saving whole sets of gradients.

use super::Found;
use crate::{
    Error, Gradients, Tensor, Wgpu,
    dispatch::{Bound, structs},
    shaders::{Access::Write, Shader},
};
use binade_core::{DType, Form, GradSet, Named, NamedGrads, RawTensor};
use binade_grad_scaler::{ClipGroup, GradOps, Norm, ScaleState, ScaleStore};

pub(super) const CLIP: Shader = Shader {
    name: "clip",
    file: "clip",
    params: size_of::<structs::Clip>(),
    bindings: &[(1, Write), (2, Write)],
};

impl GradOps for Wgpu {
    fn clip_norm(
        &self,
        grads: &mut Gradients,
        norm: Norm,
        max: f32,
        verdict: &mut Found,
    ) -> Result<(), Error> {
        positive("clip_norm", max)?;
        grads.are_of(self)?;
        if !grads.is_measured {
            self.measure(grads)?;
        }
        let verdict = Bound::whole(verdict.own(self)?);
        // In its place all along: were it lost to an error, scaled gradients would pass for unscaled ones.
        let owed = match &mut grads.owed {
            Some(owed) => owed,
            none => none.insert(self.fixed()?.nothing_owed.clone()),
        };
        let owed = Bound::whole(self.own(owed)?);
        let params = structs::Clip { norm: u32::from(norm == Norm::Infinity), most: max };
        self.dispatch(&CLIP, &params, vec![verdict, owed], 1)?;
        // A second clip is of what the first has left.
        grads.is_measured = false;
        Ok(())
    }

    fn clip_value(&self, grads: &mut Gradients, max: f32) -> Result<(), Error> {
        positive("clip_value", max)?;
        *grads = grads.settled(self, max)?;
        Ok(())
    }

    fn accumulate(
        &self,
        sum: Option<Gradients>,
        grads: Gradients,
        found: &Found,
    ) -> Result<Gradients, Error> {
        self.add_set(sum, &grads, found)
    }

    fn clip_groups(
        &self,
        grads: &mut Gradients,
        groups: &[ClipGroup],
        verdict: &mut Found,
    ) -> Result<(), Error> {
        self.clip_by_groups(grads, groups, verdict)
    }

    fn grad_forms(&self, params: &Vec<Named<Tensor>>) -> Result<Vec<Named<Form>>, Error> {
        let form = |param: &Named<Tensor>| {
            Named::new(param.name.clone(), Form::new(DType::F32, param.value.shape()))
        };
        Ok(params.iter().map(form).collect())
    }

    fn save_grads(&self, grads: &Gradients) -> Result<NamedGrads<RawTensor>, Error> {
        let raw = |grad: Named<Option<Tensor>>| {
            let value = grad.value.map(|grad| self.to_raw(&grad)).transpose()?;
            Ok(Named { name: grad.name, value })
        };
        self.materialise(grads.clone())?.into_iter().map(raw).collect()
    }

    fn load_grads(
        &self,
        _params: &Vec<Named<Tensor>>,
        saved: &NamedGrads<RawTensor>,
    ) -> Result<Gradients, Error> {
        let tensor = |saved: &Named<Option<RawTensor>>| {
            let value = saved.value.as_ref().map(|raw| self.from_raw(raw)).transpose()?;
            Ok(Named { name: saved.name.clone(), value })
        };
        Ok(saved.iter().map(tensor).collect::<Result<Vec<_>, Error>>()?.into())
    }
}

impl Wgpu {
    /// Measures a set as it is now; what it finds is nobody's verdict.
    fn measure(&self, grads: &mut Gradients) -> Result<(), Error> {
        if grads.owed.is_some() {
            *grads = grads.settled(self, f32::INFINITY)?;
        }
        let one = self.upload_state(ScaleState::from_exponent(0))?;
        self.inspect(grads, &one).map(|_| ())
    }
}

fn positive(what: &'static str, max: f32) -> Result<(), Error> {
    if max > 0.0 { Ok(()) } else { Err(Error::Limit { what, value: max }) }
}
