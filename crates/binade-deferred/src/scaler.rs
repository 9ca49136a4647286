//! Loss scaling: the scale and the findings of passes are values on the device.

use crate::{Deferred, Error, Gradients, Tensor, late::Late, stand_in, tensor::Like};
use binade_core::{DType, Finding, Form, Named, NamedGrads, RawTensor};
use binade_cpu::Cpu;
use binade_grad_scaler::{
    ClipGroup, GradOps, GradScaler, Join, Loss, LossScale, Norm, ScaleState, ScaleStore,
    join_findings, seen,
};
use std::fmt;

/// Scale on the device. A change makes a new value, so that the value which earlier clones read stays.
#[derive(Clone)]
pub struct Scale(Late<ScaleState>);

/// Finding of a pass over gradients, on the device.
#[derive(Clone)]
pub struct Found(pub(crate) Late<Finding>);

impl ScaleStore for Deferred {
    type Scale = Scale;

    fn upload_state(&self, state: ScaleState) -> Result<Scale, Error> {
        Ok(Scale(Late::known(state)))
    }

    fn merge(&self, into: &mut Found, from: &Found, join: Join) -> Result<(), Error> {
        let (before, from) = (into.0.clone(), from.0.clone());
        into.0 = self.one(move || {
            let mut joined = before.take()?;
            join_findings(&mut joined, from.get()?, join);
            Ok(joined)
        });
        Ok(())
    }

    fn update(
        &self,
        scale: &mut Scale,
        parts: &[&Found],
        verdicts: &[&Found],
        rule: &LossScale,
    ) -> Result<(), Error> {
        let late = |found: &[&Found]| found.iter().map(|f| f.0.clone()).collect::<Vec<_>>();
        let (now, parts, verdicts, rule) = (scale.0.clone(), late(parts), late(verdicts), *rule);
        scale.0 = self.one(move || {
            let (parts, verdicts) = (values(&parts)?, values(&verdicts)?);
            Ok(rule.next(*now.get()?, seen(&parts, &verdicts)))
        });
        Ok(())
    }

    fn read(&self, found: &[&Found], scale: &Scale) -> Result<(Vec<Finding>, ScaleState), Error> {
        self.resolve();
        let found = found.iter().map(|found| found.0.get().cloned()).collect::<Result<_, _>>()?;
        Ok((found, *scale.0.get()?))
    }

    /// Returns true if no job waits.
    fn is_ready(&self, _found: &[&Found], _scale: &Scale) -> Result<bool, Error> {
        Ok(self.waiting() == 0)
    }

    fn upload_found(&self, found: &Finding) -> Result<Found, Error> {
        Ok(Found(Late::known(found.clone())))
    }
}

fn values(found: &[Late<Finding>]) -> Result<Vec<&Finding>, Error> {
    found.iter().map(Late::get).collect()
}

impl Loss<Deferred> for Tensor {
    type Error = Error;

    fn scaled(&self, device: &Deferred, scale: &Scale) -> Result<Self, Error> {
        Ok(device.times(self, scale, Loss::scaled))
    }

    fn unscaled(&self, device: &Deferred, scale: &Scale) -> Result<Self, Error> {
        Ok(device.times(self, scale, Loss::unscaled))
    }
}

impl GradScaler for Deferred {
    fn unscale(&self, grads: &mut Gradients, scale: &Scale) -> Result<Found, Error> {
        let scale = scale.0.clone();
        Ok(Found(grads.change(self, move |grads| Ok(Cpu.unscale(grads, scale.get()?)?))))
    }
}

/// Function of the CPU's that scales or unscales a tensor.
type Times =
    fn(&binade_cpu::Tensor, &Cpu, &ScaleState) -> Result<binade_cpu::Tensor, binade_cpu::Error>;

impl Deferred {
    fn times(&self, tensor: &Tensor, scale: &Scale, work: Times) -> Tensor {
        let output = Tensor::later(Like { dtype: DType::F32, ..tensor.like() });
        let (tensor, scale) = (tensor.value().clone(), scale.0.clone());
        self.fill(vec![output.value().clone()], move || {
            Ok(vec![work(tensor.get()?, &Cpu, scale.get()?)?])
        });
        output
    }
}

impl GradOps for Deferred {
    fn clip_norm(
        &self,
        grads: &mut Gradients,
        norm: Norm,
        max: f32,
        verdict: &mut Found,
    ) -> Result<(), Error> {
        Cpu.clip_norm(&mut Vec::new().into(), norm, max, &mut Finding::default())?;
        let before = verdict.0.clone();
        verdict.0 = grads.change(self, move |grads| {
            let mut verdict = before.take()?;
            Cpu.clip_norm(grads, norm, max, &mut verdict)?;
            Ok(verdict)
        });
        Ok(())
    }

    fn clip_value(&self, grads: &mut Gradients, max: f32) -> Result<(), Error> {
        Cpu.clip_value(&mut Vec::new().into(), max)?;
        grads.change(self, move |grads| Ok(Cpu.clip_value(grads, max)?));
        Ok(())
    }

    fn accumulate(
        &self,
        sum: Option<Gradients>,
        grads: Gradients,
        found: &Found,
    ) -> Result<Gradients, Error> {
        let likes = total_likes(sum.as_ref(), &grads)?;
        let found = found.0.clone();
        let total = self.one(move || {
            let sum = sum.map(Gradients::take).transpose()?;
            Ok(Cpu.accumulate(sum, grads.take()?, found.get()?)?)
        });
        Ok(Gradients::later(likes, total))
    }

    fn clip_groups(
        &self,
        grads: &mut Gradients,
        groups: &[ClipGroup],
        verdict: &mut Found,
    ) -> Result<(), Error> {
        // Groups that do not fit are refused now, not when the job is run.
        let mut likes = stand_in::gradients(&grads.likes)?;
        Cpu.clip_groups(&mut likes, groups, &mut Finding::default())?;
        let (before, groups) = (verdict.0.clone(), groups.to_vec());
        verdict.0 = grads.change(self, move |grads| {
            let mut verdict = before.take()?;
            Cpu.clip_groups(grads, &groups, &mut verdict)?;
            Ok(verdict)
        });
        Ok(())
    }

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
}

/// Returns the gradients that either set has, in `f32`, as the sum will have them. Names are host knowledge, so that sets that do
/// not agree are refused now.
fn total_likes(
    sum: Option<&Gradients>,
    grads: &Gradients,
) -> Result<Vec<Named<Option<Like>>>, Error> {
    let so_far = sum.map(|sum| stand_in::gradients(&sum.likes)).transpose()?;
    Cpu.accumulate(so_far, stand_in::gradients(&grads.likes)?, &Finding::default())?;
    let mut likes = grads.likes.clone();
    for (like, before) in likes.iter_mut().zip(sum.iter().flat_map(|sum| &sum.likes)) {
        like.value = like.value.take().or_else(|| before.value.clone());
    }
    likes
        .iter_mut()
        .filter_map(|like| like.value.as_mut())
        .for_each(|like| like.dtype = DType::F32);
    Ok(likes)
}

macro_rules! opaque {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            /// Prints no value, since printing must not read the device.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(later)"))
            }
        }
    )*};
}

opaque!(Scale, Found);
