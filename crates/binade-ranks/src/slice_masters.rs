//! Masters of slices: each rank steps its slice of every parameter, then all ranks gather whole parameters.

use crate::{
    Group, RankDevice, RankGrads, Ranks, RanksError,
    average::divided,
    device::Failed,
    gradients::SliceGrads,
    header::Call,
    meeting::Statement,
    model::{Entry, travels},
    partition::is_divisible,
    slices::gather,
};
use binade_core::{DType, FoundInf, MatchError, Named, RawTensor, TensorSpec};
use binade_master_weights::{MasterStore, OptimizerConfig};
use std::collections::HashMap;

type Param<D> = Named<<D as binade_core::Handle>::Tensor>;

impl<D: RankDevice, G: Group> Ranks<D, G> {
    /// Returns an error if the store or the rule cannot work on slices. The check does not depend on the number of ranks, so that more ranks can
    /// continue a run begun on one.
    pub(crate) fn divisible(&self, config: &OptimizerConfig) -> Result<(), Failed<D>> {
        if self.partition() == crate::Partition::Whole {
            return Ok(());
        }
        if !is_divisible(config.store) {
            return self.own_part(|_| Err(RanksError::Indivisible(config.store)));
        }
        match config.rules().find(|rule| rule.needs_whole_tensors()) {
            Some(rule) => self.own_part(|_| Err(RanksError::WholeTensors(rule.name()))),
            None => Ok(()),
        }
    }

    /// Returns this rank's one-dimensional slices of the current parameters.
    ///
    /// They are not kept between steps, since the program may replace a parameter.
    pub(crate) fn cut(&self, device: &D, params: &D::Params) -> Result<D::Params, D::Error> {
        let slice = |Named { name, value }: &Param<D>| {
            let dtype = device.dtype(value);
            if !travels(dtype) {
                // The device refuses to train this type.
                return Ok(Named { name: name.clone(), value: value.clone() });
            }
            let values = device.download(value)?;
            let own = &values[self.own_slice(name, values.len())];
            Ok(Named { name: name.clone(), value: device.upload(own, &[own.len()], dtype)? })
        };
        params.iter().map(slice).collect()
    }

    /// Returns names, types and shapes of whole parameters.
    pub(crate) fn model(&self, params: &D::Params) -> Vec<Entry> {
        params.iter().map(|param| self.entry(param, self.device().dtype(&param.value))).collect()
    }

    fn entry(&self, Named { name, value }: &Param<D>, dtype: DType) -> Entry {
        let spec = Some(TensorSpec::new(dtype, self.device().shape(value)));
        Entry { name: name.clone(), spec, is_whole: true }
    }

    /// Makes masters of this rank's slices, and casts parameters as the configuration says.
    pub(crate) fn masters_of_slices(
        &self,
        params: &mut D::Params,
        config: &OptimizerConfig,
    ) -> Result<D::Masters, Failed<D>> {
        let (slices, masters) = self.own_part(|device| {
            let mut slices = self.cut(device, params)?;
            let mut masters = device.masters(&mut slices, config)?;
            self.number(device, params, &mut masters, config)?;
            Ok((slices, masters))
        })?;
        self.gather_params(Call::Masters, params.iter_mut().zip(&slices))?;
        Ok(masters)
    }

    /// Steps this rank's slices, and gathers the parameters unless the step is skipped.
    pub(crate) fn step_slices(
        &self,
        params: &mut D::Params,
        masters: &mut D::Masters,
        grads: RankGrads<D>,
        found: &FoundInf,
    ) -> Result<(), Failed<D>> {
        let SliceGrads { set, model } = grads.into_slices()?;
        let slices = self.own_part(|device| {
            let moved = moved(&model);
            check_shapes(device, params, &moved)?;
            let mut slices = self.cut(device, params)?;
            device.step(&mut slices, masters, set, &device.upload_found(found)?)?;
            Ok(slices)
        })?;
        if found.is_raised() {
            return Ok(());
        }
        let moved = moved(&model);
        let stepped = params.iter_mut().zip(&slices);
        let stepped = stepped.filter(|(param, _)| moved.contains_key(&*param.name));
        self.gather_params(Call::Step, stepped)
    }

    /// Makes masters of this rank's slices of more parameters.
    pub(crate) fn join_slices(
        &self,
        params: &mut D::Params,
        masters: &mut D::Masters,
        mut more: D::Params,
        config: &OptimizerConfig,
    ) -> Result<(), Failed<D>> {
        let known = params.len();
        let slices = self.own_part(|device| {
            let (mut slices, joining) = (self.cut(device, params)?, self.cut(device, &more)?);
            device.join(&mut slices, masters, joining, config)?;
            self.number(device, &more, masters, config)?;
            Ok(slices)
        })?;
        self.gather_params(Call::Join, more.iter_mut().zip(&slices[known..]))?;
        params.append(&mut more);
        Ok(())
    }

    /// Numbers the elements of slices as in the whole parameters, for a store whose rounding depends on the index.
    fn number(
        &self,
        device: &D,
        params: &D::Params,
        masters: &mut D::Masters,
        config: &OptimizerConfig,
    ) -> Result<(), D::Error> {
        if !matches!(config.store, MasterStore::Stochastic { .. }) {
            return Ok(());
        }
        let first = |Named { name, value }: &Param<D>| {
            let own = self.own_slice(name, device.element_count(value));
            Named { name: name.clone(), value: own.start as u64 }
        };
        device.set_offsets(masters, &params.iter().map(first).collect::<Vec<_>>())
    }

    /// Replaces parameters by whole ones, gathered from the ranks' slices, in the slices' types.
    pub(crate) fn gather_params<'p>(
        &self,
        call: Call,
        params: impl Iterator<Item = (&'p mut Param<D>, &'p Param<D>)>,
    ) -> Result<(), Failed<D>>
    where
        Param<D>: 'p,
    {
        let (mut params, slices): (Vec<_>, Vec<_>) = params.unzip();
        let (model, own) = self.own_part(|device| {
            let (mut model, mut own) = (Vec::new(), Vec::new());
            for (param, slice) in params.iter().zip(slices) {
                let dtype = device.dtype(&slice.value);
                let values = device.download(&slice.value)?;
                let raw = RawTensor::from_f32(TensorSpec::new(dtype, [values.len()]), &values);
                own.extend(raw.iter().flat_map(RawTensor::bytes));
                model.push(self.entry(param, dtype));
            }
            Ok((model, own))
        })?;
        self.meet(Statement { model: model.clone(), ..Statement::of(call, "gather".into()) })?;
        let tensors = divided(&model, |spec| spec.dtype.bytes());
        let whole = self.kept(gather(self.group(), &tensors, &own))?;
        self.alone(|device| {
            for ((param, entry), bytes) in params.iter_mut().zip(&model).zip(whole) {
                let Some(spec) = entry.spec.clone() else { continue };
                let (dtype, shape) = (spec.dtype, spec.shape.clone());
                let values = RawTensor::new(spec, bytes).and_then(|raw| raw.to_f32());
                let values = values.unwrap_or_default();
                device.upload_to(&mut param.value, &values, &shape, dtype)?;
            }
            Ok(())
        })
    }
}

/// Returns types and shapes of the gradients that a step applies.
fn moved(model: &[Entry]) -> HashMap<&str, &TensorSpec> {
    model.iter().filter_map(|entry| Some((&*entry.name, entry.spec.as_ref()?))).collect()
}

/// Checks that whole gradients have the shapes of their parameters, which slices do not show.
fn check_shapes<D: RankDevice>(
    device: &D,
    params: &D::Params,
    grads: &HashMap<&str, &TensorSpec>,
) -> Result<(), Failed<D>> {
    for Named { name, value } in params {
        let grad = grads.get(&**name);
        if grad.is_some_and(|grad| grad.shape != device.shape(value)) {
            let why = "its gradient has another shape than the parameter";
            return Err(RanksError::Mismatch(MatchError { parameter: name.clone(), why }));
        }
    }
    Ok(())
}
