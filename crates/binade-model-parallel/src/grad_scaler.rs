//! Losses, unscaling, and arithmetic on gradient sets of all devices.

use crate::{
    DeviceTensor, ModelDevice, ModelFound, ModelGradients, ModelParallel, ModelParallelError,
    PerDevice,
    gradients::{Divided, Entry},
    handle::Failed,
};
use binade_core::{FoundInf, Named, NamedGrads, RawTensor, TensorSpec, check_same_parameters};
use binade_grad_scaler::{ClipGroup, GradOps, GradScaler, Loss, MergeRule, Norm, ScaleStore};
use std::{collections::HashMap, sync::Arc};

/// A loss is scaled on its own device.
impl<D> Loss<ModelParallel<D>> for DeviceTensor<D::Tensor>
where
    D: ModelDevice<Tensor: Loss<D, Error = D::Error>>,
{
    type Error = Failed<D>;

    fn scaled(
        &self,
        model: &ModelParallel<D>,
        scale: &PerDevice<D::Scale>,
    ) -> Result<Self, Failed<D>> {
        self.times(model, scale, Loss::scaled)
    }

    fn unscaled(
        &self,
        model: &ModelParallel<D>,
        scale: &PerDevice<D::Scale>,
    ) -> Result<Self, Failed<D>> {
        self.times(model, scale, Loss::unscaled)
    }
}

impl<T> DeviceTensor<T> {
    fn times<D: ModelDevice<Tensor = T>>(
        &self,
        model: &ModelParallel<D>,
        scale: &PerDevice<D::Scale>,
        times: impl FnOnce(&T, &D, &D::Scale) -> Result<T, D::Error>,
    ) -> Result<Self, Failed<D>> {
        model.fits(scale.0.len())?;
        let device = self.device;
        let tensor = model.one(device, |it| times(&self.tensor, it, &scale.0[device]))?;
        Ok(Self { tensor, device })
    }
}

impl<D: ModelDevice> GradScaler for ModelParallel<D> {
    fn unscale(
        &self,
        grads: &mut ModelGradients<D>,
        scale: &PerDevice<D::Scale>,
    ) -> Result<ModelFound<D::Found>, Failed<D>> {
        self.fits(scale.0.len())?;
        let Divided { parts, model } = self.divide(grads)?;
        let own = self.change(|number, it| it.unscale(&mut parts[number], &scale.0[number]))?;
        let names = model.iter().map(|entry| entry.name.clone()).collect();
        Ok(ModelFound { parts: self.joined(own)?, names })
    }
}

impl<D: ModelDevice> GradOps for ModelParallel<D> {
    fn clip_norm(
        &self,
        grads: &mut ModelGradients<D>,
        norm: Norm,
        max: f32,
        verdict: &mut ModelFound<D::Found>,
    ) -> Result<(), Failed<D>> {
        self.fits(verdict.parts.len())?;
        let parts = &mut self.divide(grads)?.parts;
        Ok(D::clip_norms(self.devices(), parts, (norm, max), &mut verdict.parts)?)
    }

    fn clip_value(&self, grads: &mut ModelGradients<D>, max: f32) -> Result<(), Failed<D>> {
        let parts = &mut self.divide(grads)?.parts;
        self.change(|number, device| device.clip_value(&mut parts[number], max)).map(drop)
    }

    fn accumulate(
        &self,
        sum: Option<ModelGradients<D>>,
        grads: ModelGradients<D>,
        found: &ModelFound<D::Found>,
    ) -> Result<ModelGradients<D>, Failed<D>> {
        self.fits(found.parts.len())?;
        let sum = sum.map(|sum| self.take_divided(sum)).transpose()?;
        let Divided { parts, model } = self.take_divided(grads)?;
        let (mut parts, mut model) = (parts.into_iter(), model);
        let mut sums = Vec::new();
        if let Some(sum) = sum {
            model = of_both(&sum, model)?;
            sums = sum.parts;
        }
        let mut sums = sums.into_iter();
        let parts = self.change(|number, device| {
            let (sum, part) = (sums.next(), parts.next());
            let part = part.unwrap_or_else(|| Vec::new().into());
            device.accumulate(sum, part, &found.parts[number])
        })?;
        Ok(ModelGradients::divided(Divided { parts, model }))
    }

    fn clip_groups(
        &self,
        grads: &mut ModelGradients<D>,
        groups: &[ClipGroup],
        verdict: &mut ModelFound<D::Found>,
    ) -> Result<(), Failed<D>> {
        self.fits(verdict.parts.len())?;
        let Divided { parts, model } = self.divide(grads)?;
        let names = model.iter().map(|entry| &*entry.name);
        let refused = |error| ModelParallelError::Device(self.of_number(0).train_error(error));
        ClipGroup::places(groups, names).map_err(refused)?;
        let groups = self.groups_of_devices(groups, model)?;
        // New found-inf results, so that earlier findings are not counted twice.
        let found = self.change(|number, device| {
            let mut found = device.upload_found(&FoundInf::default())?;
            device.clip_groups(&mut parts[number], &groups[number], &mut found)?;
            Ok(found)
        })?;
        let found = ModelFound { parts: self.joined(found)?, names: verdict.names.clone() };
        self.merge(verdict, &found, MergeRule::Any)
    }

    fn grad_specs(&self, params: &Self::Params) -> Result<Vec<Named<TensorSpec>>, Failed<D>> {
        self.of_params(params, |_, device, own| device.grad_specs(own))
    }

    fn save_grads(&self, grads: &ModelGradients<D>) -> Result<NamedGrads<RawTensor>, Failed<D>> {
        let divided = self.as_divided(grads)?;
        let lists = self.each(|number, device| device.save_grads(&divided.parts[number]))?;
        Ok(divided.ordered(lists))
    }

    fn load_grads(
        &self,
        params: &Self::Params,
        saved: &NamedGrads<RawTensor>,
    ) -> Result<ModelGradients<D>, Failed<D>> {
        self.remember(params);
        let mut lists = vec![Vec::new(); self.devices().len()];
        let mut model = Vec::new();
        for grad in saved {
            let device = self.homes().get(&grad.name).copied().unwrap_or(self.current());
            lists[device].push(grad.clone());
            let shape = grad.value.as_ref().map(|raw| raw.spec().shape.clone());
            model.push(Entry { name: grad.name.clone(), device, shape });
        }
        let sets = self.sets_of(params)?;
        let parts = self.each(|number, device| device.load_grads(&sets[number], &lists[number]))?;
        Ok(ModelGradients::divided(Divided { parts, model }))
    }
}

impl<D: ModelDevice> ModelParallel<D> {
    /// Returns the groups of each device. The parameters of a group are on one device.
    fn groups_of_devices(
        &self,
        groups: &[ClipGroup],
        model: &[Entry],
    ) -> Result<Vec<Vec<ClipGroup>>, Failed<D>> {
        let homes: HashMap<&str, usize> =
            model.iter().map(|entry| (&*entry.name, entry.device)).collect();
        let mut lists = vec![Vec::new(); self.devices().len()];
        for group in groups {
            let device = |name: &String| homes.get(name.as_str()).copied();
            let mut devices: Vec<usize> = group.parameters.iter().filter_map(device).collect();
            devices.sort_unstable();
            devices.dedup();
            if devices.len() > 1 {
                let parameter = group.parameters[0].clone();
                return Err(ModelParallelError::GroupDevices { parameter, devices });
            }
            lists[devices.first().copied().unwrap_or_default()].push(group.clone());
        }
        Ok(lists)
    }
}

/// Returns the joint entries of a sum and its addend, which must list the same parameters on the same devices.
fn of_both<D: ModelDevice>(sum: &Divided<D>, grads: Vec<Entry>) -> Result<Vec<Entry>, Failed<D>> {
    let shapes = grads.iter().map(|entry| (&entry.name, entry.shape.as_deref()));
    check_same_parameters(sum.shapes(), shapes).map_err(ModelParallelError::Mismatch)?;
    let joint = |(own, other): (&Entry, Entry)| {
        if own.device != other.device {
            let (found, expected) = (other.device, own.device);
            let (parameter, owner): (Arc<str>, _) = (other.name, "the sum");
            return Err(ModelParallelError::GradientDevice { parameter, found, owner, expected });
        }
        Ok(Entry { shape: own.shape.clone().or(other.shape), ..other })
    };
    sum.model.iter().zip(grads).map(joint).collect()
}
