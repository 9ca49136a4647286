//! Averages of which each rank has a slice: found-inf results and norms over all slices, and the gathering of whole sets.

use crate::{
    Group, GroupError, RankDevice, RankGrads, Ranks, RanksError,
    average::divided,
    device::{Failed, read},
    gradients::{Sets, SliceGrads},
    header::Call,
    meeting::Statement,
    model::{self, Entry},
    sizes::{self, Sizes},
    slices::gather,
};
use binade_core::{
    DType, FoundInf, MatchError, MergeRule, Named, NamedGrads, Overflow, RawTensor, TensorSpec,
    clip_factor,
};
use binade_grad_scaler::{Norm, ScaleState};
use std::mem;

/// Clip of the gradients, in groups: each limit applies to the gradients with its position.
pub(crate) struct Clips<'c> {
    pub(crate) places: &'c [Option<usize>],
    pub(crate) limits: &'c [(Norm, f32)],
}

impl<D: RankDevice, G: Group> Ranks<D, G> {
    /// Unscales slices, and returns the found-inf result of all ranks' slices.
    pub(crate) fn unscale_slices(
        &self,
        slices: &mut SliceGrads<D>,
        scale: &ScaleState,
    ) -> Result<FoundInf, Failed<D>> {
        let SliceGrads { set, model } = slices;
        let mut own = self.own_part(|device| {
            let found = device.unscale(set, &device.upload_state(*scale)?)?;
            Ok(read(device, &found)?)
        })?;
        if let Some(Overflow { parameter, index, .. }) = &mut own.overflow {
            let entry = model.iter().find(|entry| entry.name == *parameter);
            let elements = entry.and_then(|entry| entry.spec.as_ref()?.elements());
            *index += self.own_slice(parameter, elements.unwrap_or_default()).start as u64;
        }
        let missing = own.missing.clone();
        let met = self.meet(Statement {
            call: Call::UnscaleAverage,
            setting: format!("{scale:?}"),
            model: model.clone(),
            shards: 0,
            found: own,
        })?;
        Ok(FoundInf { missing, ..joined(&met.findings, model) })
    }

    /// Clips slices by the norms of all ranks' slices, and returns the norms. Their bits do not depend on the number of ranks.
    pub(crate) fn clip_slices(
        &self,
        slices: &mut SliceGrads<D>,
        Clips { places, limits }: Clips<'_>,
        (call, setting): (Call, String),
    ) -> Result<Vec<f64>, Failed<D>> {
        let set = mem::replace(&mut slices.set, Vec::new().into());
        let (mut grads, values) = self.own_part(|device| {
            let grads = device.materialise(set)?;
            let values = |grad: &Named<Option<D::Tensor>>| {
                grad.value.as_ref().map(|value| device.download(value)).transpose()
            };
            let values = grads.iter().map(values).collect::<Result<Vec<_>, _>>()?;
            Ok((grads, values))
        })?;
        let mut own = vec![Sizes::default(); limits.len()];
        for (place, values) in places.iter().zip(&values) {
            if let (Some(place), Some(values)) = (place, values) {
                own[*place].add(values);
            }
        }
        self.meet(Statement::of(call, setting))?;
        let all = self.kept(joint_sizes(self.group(), &own))?;
        let norms: Vec<f64> =
            all.iter().zip(limits).map(|(sizes, (norm, _))| sizes.norm(*norm)).collect();
        let factors: Vec<f32> =
            norms.iter().zip(limits).map(|(norm, (_, max))| clip_factor(*norm, *max)).collect();
        self.alone(|device| {
            for ((grad, values), place) in grads.iter_mut().zip(values).zip(places) {
                let factor = place.map_or(1.0, |place| factors[place]);
                if let (Some(mut values), true) = (values, factor != 1.0) {
                    for value in &mut values {
                        *value *= factor;
                    }
                    grad.value = Some(device.upload(&values, &[values.len()], DType::F32)?);
                }
            }
            Ok(())
        })?;
        slices.set = grads.into();
        Ok(norms)
    }

    /// Returns the sum of slices, or `sum` if the found-inf result is raised.
    pub(crate) fn accumulate_slices(
        &self,
        sum: Option<RankGrads<D>>,
        grads: RankGrads<D>,
        found: &FoundInf,
    ) -> Result<RankGrads<D>, Failed<D>> {
        let sum = sum.map(RankGrads::into_slices).transpose()?;
        let SliceGrads { set, model: own } = grads.into_slices()?;
        let (sum, model) = sum.map(|sum| (sum.set, sum.model)).unzip();
        let set = self.alone(|device| device.accumulate(sum, set, &device.upload_found(found)?))?;
        let model = match (model, found.is_raised()) {
            (Some(model), true) => model,
            (None, true) => SliceGrads::<D>::none_of(own).model,
            (None, false) => own,
            (Some(mut model), false) => {
                model::join(&mut model, &own).map_err(|_| other_shapes(&model, &own))?;
                model
            }
        };
        Ok(RankGrads(Sets::Slices(SliceGrads { set, model })))
    }

    /// Returns this rank's slices of gradients, saved as parts of the whole gradients.
    pub(crate) fn save_own_grads(
        &self,
        SliceGrads { set, model }: &SliceGrads<D>,
    ) -> Result<NamedGrads<RawTensor>, Failed<D>> {
        let own = self.own_part(|device| Ok(device.save_grads(set)?))?;
        let slice = |(grad, entry): (Named<Option<RawTensor>>, &Entry)| {
            let value = grad.value.zip(entry.spec.clone()).and_then(|(raw, spec)| {
                let own = self.own_slice(&entry.name, spec.elements()?);
                RawTensor::of_slice(spec, own, raw.bytes().to_vec())
            });
            Named { name: entry.name.clone(), value }
        };
        Ok(own.into_iter().zip(model).map(slice).collect())
    }

    /// Gathers whole gradients from all ranks' slices.
    pub(crate) fn gather_grads(
        &self,
        call: Call,
        SliceGrads { set, model }: &SliceGrads<D>,
    ) -> Result<NamedGrads<RawTensor>, Failed<D>> {
        let own = self.own_part(|device| Ok(device.save_grads(set)?))?;
        self.meet(Statement { model: model.clone(), ..Statement::of(call, String::new()) })?;
        let raw = own.iter().filter_map(|grad| grad.value.as_ref());
        let bytes: Vec<u8> = raw.flat_map(RawTensor::bytes).copied().collect();
        let whole = self.kept(gather(self.group(), &divided(model, |_| 4), &bytes))?;
        let mut whole = whole.into_iter();
        let grad = |entry: &Entry| {
            let value = entry.spec.clone().and_then(|spec| RawTensor::new(spec, whole.next()?));
            Named { name: entry.name.clone(), value }
        };
        Ok(model.iter().map(grad).collect())
    }

    /// Returns this rank's slices of gradients, which may be whole or already slices.
    pub(crate) fn cut_grads(
        &self,
        saved: &NamedGrads<RawTensor>,
    ) -> Result<RankGrads<D>, Failed<D>> {
        let entry = |grad: &Named<Option<RawTensor>>| {
            let spec = grad.value.as_ref().map(|raw| raw.spec().clone());
            Entry { name: grad.name.clone(), is_whole: spec.is_some(), spec }
        };
        let slice = |grad: &Named<Option<RawTensor>>| {
            let value = grad.value.as_ref().and_then(|raw| {
                let own = self.own_slice(&grad.name, raw.spec().elements()?);
                let spec = TensorSpec::new(raw.spec().dtype, [own.len()]);
                RawTensor::new(spec, raw.slice(own)?.bytes().to_vec())
            });
            Named { name: grad.name.clone(), value }
        };
        let slices: Vec<_> = saved.iter().map(slice).collect();
        let set = self.alone(|device| upload(device, &slices))?.into();
        let model = saved.iter().map(entry).collect();
        Ok(RankGrads(Sets::Slices(SliceGrads { set, model })))
    }
}

/// Uploads `f32` gradients to the device.
pub(crate) fn upload<D: RankDevice>(
    device: &D,
    saved: &NamedGrads<RawTensor>,
) -> Result<NamedGrads<D::Tensor>, D::Error> {
    let tensor = |raw: &RawTensor| {
        device.upload(&raw.to_f32().unwrap_or_default(), &raw.spec().shape, DType::F32)
    };
    let grad = |grad: &Named<Option<RawTensor>>| {
        let value = grad.value.as_ref().map(tensor).transpose()?;
        Ok(Named { name: grad.name.clone(), value })
    };
    saved.iter().map(grad).collect()
}

/// Joins the found-inf results of slices. The first overflow is the first of the whole set.
fn joined(findings: &[FoundInf], model: &[Entry]) -> FoundInf {
    let mut all = FoundInf::default();
    for own in findings {
        all.merge(own, MergeRule::Any);
    }
    let place = |overflow: &&Overflow| {
        let place = model.iter().position(|entry| entry.name == overflow.parameter);
        (place, overflow.index)
    };
    let overflows = findings.iter().filter_map(|own| own.overflow.as_ref());
    FoundInf { overflow: overflows.min_by_key(place).cloned(), ..all }
}

/// Returns the sizes of all ranks' slices together.
fn joint_sizes<G: Group>(group: &G, own: &[Sizes]) -> Result<Vec<Sizes>, GroupError> {
    let own: Vec<u8> = own.iter().flat_map(Sizes::to_bytes).collect();
    let mut all = vec![0; own.len() * group.ranks()];
    group.all_gather(&own, &vec![own.len(); group.ranks()], &mut all)?;
    let (sets, _) = all.as_chunks::<{ sizes::BYTES }>();
    let count = own.len() / sizes::BYTES;
    let mut joint = vec![Sizes::default(); count];
    for rank in sets.chunks(count.max(1)) {
        joint.iter_mut().zip(rank).for_each(|(sum, bytes)| sum.add_bytes(bytes));
    }
    Ok(joint)
}

/// Returns the error for the first gradient whose whole shape has changed.
fn other_shapes<E>(model: &[Entry], other: &[Entry]) -> RanksError<E> {
    let differs = |(own, other): &(&Entry, &Entry)| {
        own.spec.as_ref().zip(other.spec.as_ref()).is_some_and(|(own, other)| own != other)
    };
    let first = model.iter().zip(other).find(differs);
    let parameter = first.map_or_else(|| "gradient".into(), |(own, _)| own.name.clone());
    RanksError::Mismatch(MatchError { parameter, why: SHAPE })
}

const SHAPE: &str = "its gradient has another shape than in earlier micro-batches";
