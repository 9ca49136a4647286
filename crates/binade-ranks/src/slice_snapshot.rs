//! Snapshots of masters of slices: whole tensors, which any number of ranks can load, or the rank's slices of them.

use crate::{
    Group, RankDevice, Ranks, average,
    device::Failed,
    header::Call,
    meeting::Statement,
    model::Entry,
    slices::{Divided, gather},
};
use binade_core::{Named, RawTensor, TensorSpec};
use binade_master_weights::{LoadError, SavedParameter, Snapshot, StateKind, check_saved_slices};
use std::{iter, ops::Range, sync::Arc};

/// Tensor with a value for each element of a parameter.
struct Part<'s> {
    name: Arc<str>,
    /// `None` is the parameter itself.
    kind: Option<StateKind>,
    raw: &'s mut RawTensor,
}

impl Part<'_> {
    /// Returns type and shape for a parameter of this shape.
    fn spec(&self, shape: &[usize]) -> TensorSpec {
        let dtype = self.raw.spec().dtype;
        self.kind.map_or_else(|| TensorSpec::new(dtype, shape), |kind| kind.spec(dtype, shape))
    }

    /// Returns the tensor's division among ranks, for a parameter of this many elements.
    fn divided(&self, elements: usize) -> Divided<'_> {
        let width = self.spec(&[1]).bytes().unwrap_or_default();
        Divided { name: &self.name, elements, width }
    }
}

/// Returns the tensors of a parameter that are divided among ranks: all whose shape depends on the parameter's.
fn parts(SavedParameter { name, value, kept, .. }: &mut SavedParameter) -> Vec<Part<'_>> {
    let kept = kept.iter_mut().map(|(kind, raw)| (Some(*kind), raw));
    let all = iter::once((None, value)).chain(kept);
    let part = |(kind, raw)| Part { name: name.clone(), kind, raw };
    all.map(part).filter(|part| part.kind.is_none_or(|kind| kind.width().is_some())).collect()
}

impl<D: RankDevice + Snapshot, G: Group> Ranks<D, G> {
    /// Gathers whole parameters and states from all ranks' slices.
    pub(crate) fn save_slices(
        &self,
        params: &D::Params,
        masters: &D::Masters,
    ) -> Result<Vec<SavedParameter>, Failed<D>> {
        let mut saved =
            self.own_part(|device| Ok(device.save(&self.cut(device, params)?, masters)?))?;
        let model = self.model(params);
        let mut all: Vec<_> = saved.iter_mut().zip(&model).flat_map(with_specs).collect();
        let elements = |spec: &TensorSpec| spec.elements().unwrap_or_default();
        let tensors =
            all.iter().map(|(part, spec)| part.divided(elements(spec))).collect::<Vec<_>>();
        let own: Vec<u8> = all.iter().flat_map(|(part, _)| part.raw.bytes()).copied().collect();
        self.meet(Statement { model: model.clone(), ..Statement::of(Call::Save, String::new()) })?;
        let whole = self.kept(gather(self.group(), &tensors, &own))?;
        for ((part, spec), bytes) in all.iter_mut().zip(whole) {
            if let Some(raw) = RawTensor::new(part.spec(&spec.shape), bytes) {
                *part.raw = raw;
            }
        }
        Ok(saved)
    }

    /// Returns this rank's slices of parameters and their states.
    pub(crate) fn save_own(
        &self,
        params: &D::Params,
        masters: &D::Masters,
    ) -> Result<Vec<SavedParameter>, Failed<D>> {
        let mut saved =
            self.own_part(|device| Ok(device.save(&self.cut(device, params)?, masters)?))?;
        let model = self.model(params);
        for (part, spec) in saved.iter_mut().zip(&model).flat_map(with_specs) {
            let own = self.own_elements(&part, spec.elements().unwrap_or_default());
            let bytes = part.raw.bytes().to_vec();
            if let Some(raw) = RawTensor::of_slice(part.spec(&spec.shape), own, bytes) {
                *part.raw = raw;
            }
        }
        Ok(saved)
    }

    /// Loads this rank's slices of a file and whole parameters, or only this rank's slices of parameters if the file has no more.
    pub(crate) fn load_slices(
        &self,
        device: &D,
        (params, masters): (&mut D::Params, &mut D::Masters),
        saved: &[SavedParameter],
    ) -> Result<(), LoadError<D::Error>> {
        let specs = device.specs(params, masters).map_err(LoadError::Device)?;
        let own = |name: &str, elements| self.own_slice(name, elements);
        let saved = check_saved_slices(&specs, saved, own)?;
        let mut slices = self.cut(device, params).map_err(LoadError::Device)?;
        let own: Vec<_> = saved.iter().map(|saved| self.cut_saved(saved)).collect();
        let values = params.iter().zip(&saved).map(|(Named { value, .. }, saved)| {
            let raw = &saved.value;
            let mut values = if raw.is_slice() { device.download(value)? } else { Vec::new() };
            values.resize(raw.spec().elements().unwrap_or_default(), 0.0);
            let own = values.iter_mut().skip(raw.elements().start);
            own.zip(raw.to_f32().unwrap_or_default()).for_each(|(value, saved)| *value = saved);
            Ok(values)
        });
        let values = values.collect::<Result<Vec<_>, _>>().map_err(LoadError::Device)?;
        device.load(&mut slices, masters, &own)?;
        params.iter_mut().zip(&saved).zip(values).try_for_each(|((param, saved), values)| {
            let (shape, dtype) = (&saved.value.spec().shape, device.dtype(&param.value));
            let put = device.upload_to(&mut param.value, &values, shape, dtype);
            put.map_err(LoadError::Device)
        })
    }

    /// Gathers whole parameters after each rank has loaded its slices.
    pub(crate) fn gather_loaded(&self, params: &mut D::Params) -> Result<(), Failed<D>> {
        let slices = self.own_part(|device| Ok(self.cut(device, params)?))?;
        self.gather_params(Call::Load, params.iter_mut().zip(&slices))
    }

    /// Returns this rank's slice of a saved parameter, as a parameter of its own.
    fn cut_saved(&self, saved: &SavedParameter) -> SavedParameter {
        let elements = saved.value.spec().elements().unwrap_or_default();
        let mut saved = saved.clone();
        for part in parts(&mut saved) {
            let spec = part.spec(&[self.own_slice(&part.name, elements).len()]);
            let slice = part.raw.slice(self.own_elements(&part, elements));
            if let Some(raw) = slice.and_then(|slice| RawTensor::new(spec, slice.bytes().to_vec()))
            {
                *part.raw = raw;
            }
        }
        saved
    }

    /// Returns the elements of a tensor that this rank owns, for a parameter of this many elements.
    fn own_elements(&self, part: &Part<'_>, elements: usize) -> Range<usize> {
        let own = self.own_slice(&part.name, elements);
        let width = part.kind.and_then(StateKind::width).unwrap_or(1);
        own.start * width..own.end * width
    }

    /// Gathers whole `f32` values from all ranks' slices.
    pub(crate) fn export_slices(
        &self,
        params: &D::Params,
        masters: &D::Masters,
    ) -> Result<Vec<Named<Vec<f32>>>, Failed<D>> {
        let own =
            self.own_part(|device| Ok(device.export_f32(&self.cut(device, params)?, masters)?))?;
        let model = self.model(params);
        let own: Vec<_> = own.into_iter().map(|own| Some(own.value)).collect();
        self.meet(Statement {
            model: model.clone(),
            ..Statement::of(Call::Export, String::new())
        })?;
        let whole = self.kept(average::whole(self.group(), &model, &own))?;
        let named = |(entry, values): (&Entry, Option<Vec<f32>>)| Named {
            name: entry.name.clone(),
            value: values.unwrap_or_default(),
        };
        Ok(model.iter().zip(whole).map(named).collect())
    }
}

/// Returns the parts of a saved parameter, each with its type and whole shape.
fn with_specs<'s>(
    (saved, entry): (&'s mut SavedParameter, &'s Entry),
) -> impl Iterator<Item = (Part<'s>, &'s TensorSpec)> {
    let spec = entry.spec.as_ref();
    parts(saved).into_iter().filter_map(move |part| Some((part, spec?)))
}
