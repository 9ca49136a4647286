//! Snapshots of masters of slices: a file has whole tensors, and goes with any number of ranks.

use crate::{
    Group, RankDevice, Ranks, average,
    device::Failed,
    header::Call,
    meeting::Statement,
    model::Entry,
    slices::{Divided, gather},
};
use binade_core::{Named, RawTensor, TensorSpec};
use binade_master_weights::{LoadError, SavedParameter, Snapshot, StateKind, check_saved};
use std::{iter, sync::Arc};

/// Tensor that has something of each element of a parameter.
struct Part<'s> {
    name: Arc<str>,
    /// `None` is the parameter itself.
    kind: Option<StateKind>,
    raw: &'s mut RawTensor,
}

impl Part<'_> {
    /// Returns the form for a parameter of this shape.
    fn spec(&self, shape: &[usize]) -> TensorSpec {
        let dtype = self.raw.spec().dtype;
        self.kind.map_or_else(|| TensorSpec::new(dtype, shape), |kind| kind.spec(dtype, shape))
    }

    /// Returns its division among ranks, for a parameter of so many elements.
    fn divided(&self, elements: usize) -> Divided<'_> {
        let width = self.spec(&[1]).bytes().unwrap_or_default();
        Divided { name: &self.name, elements, width }
    }
}

/// Returns the tensors of a parameter that are divided among ranks: all but those of one form whatever its shape.
fn parts(SavedParameter { name, value, kept, .. }: &mut SavedParameter) -> Vec<Part<'_>> {
    let kept = kept.iter_mut().map(|(kind, raw)| (Some(*kind), raw));
    let all = iter::once((None, value)).chain(kept);
    let part = |(kind, raw)| Part { name: name.clone(), kind, raw };
    all.map(part).filter(|part| part.spec(&[0]).elements() == Some(0)).collect()
}

impl<D: RankDevice + Snapshot, G: Group> Ranks<D, G> {
    /// Returns whole parameters with whole states, of all ranks' slices.
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

    /// Loads this rank's slices of a file, and the parameters whole.
    pub(crate) fn load_slices(
        &self,
        device: &D,
        (params, masters): (&mut D::Params, &mut D::Masters),
        saved: &[SavedParameter],
    ) -> Result<(), LoadError<D::Error>> {
        let specs = device.specs(params, masters).map_err(LoadError::Device)?;
        let whole = check_saved(&specs, saved)?;
        let mut slices = self.cut(device, params).map_err(LoadError::Device)?;
        let own: Vec<_> = whole.iter().map(|whole| self.cut_saved(whole)).collect();
        let values = params.iter().zip(&whole).map(|(param, whole)| {
            let (raw, dtype) = (&whole.value, device.dtype(&param.value));
            device.upload(&raw.to_f32().unwrap_or_default(), &raw.spec().shape, dtype)
        });
        let values = values.collect::<Result<Vec<_>, _>>().map_err(LoadError::Device)?;
        device.load(&mut slices, masters, &own)?;
        params.iter_mut().zip(values).for_each(|(param, value)| param.value = value);
        Ok(())
    }

    /// Returns this rank's slice of a saved parameter.
    fn cut_saved(&self, whole: &SavedParameter) -> SavedParameter {
        let elements = whole.value.spec().elements().unwrap_or_default();
        let mut saved = whole.clone();
        for part in parts(&mut saved) {
            let bytes = part.divided(elements).bytes(self.group().rank(), self.group().ranks());
            let spec = part.spec(&[self.own(&part.name, elements).len()]);
            if let Some(raw) = RawTensor::new(spec, part.raw.bytes()[bytes].to_vec()) {
                *part.raw = raw;
            }
        }
        saved
    }

    /// Returns whole values in `f32`, of all ranks' slices.
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

/// Returns the parts of a saved parameter, each with the parameter's whole form.
fn with_specs<'s>(
    (saved, entry): (&'s mut SavedParameter, &'s Entry),
) -> impl Iterator<Item = (Part<'s>, &'s TensorSpec)> {
    let spec = entry.spec.as_ref();
    parts(saved).into_iter().filter_map(move |part| Some((part, spec?)))
}
