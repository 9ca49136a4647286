//! Unscaling, in which ranks meet, and arithmetic on averages.

use crate::{
    Desync, Group, RankDevice, RankGrads, Ranks, RanksError,
    average::{Averages, Shard},
    buckets::{packed_as, unscaled},
    device::{Failed, read},
    gradients::{Sets, SliceGrads},
    header::Call,
    meeting::{Met, Statement},
    model::{self, Entry},
    sending::Sent,
    slice_grads::Clips,
};
use binade_core::{
    DType, FoundInf, MergeRule, Named, NamedGrads, RawTensor, TensorSpec, TrainError,
};
use binade_grad_scaler::{ClipGroup, GradOps, GradScaler, Norm, ScaleState};
use std::mem;

type Set<D> = NamedGrads<<D as binade_core::Handle>::Tensor>;

impl<D: RankDevice, G: Group> GradScaler for Ranks<D, G> {
    fn unscale(
        &self,
        grads: &mut RankGrads<D>,
        scale: &ScaleState,
    ) -> Result<FoundInf, Self::Error> {
        let (sets, found) = match &mut grads.0 {
            Sets::Shards(shards) => self.unscale_shards(&mem::take(shards), scale)?,
            Sets::Sent(_) => match mem::replace(&mut grads.0, Sets::Shards(Vec::new())) {
                Sets::Sent(sent) => self.unscale_sent(sent, scale)?,
                other => (other, FoundInf::default()),
            },
            Sets::Slices(slices) => return self.unscale_slices(slices, scale),
            Sets::Average(set) | Sets::Unsent(set, _) => return self.unscale_average(set, scale),
        };
        grads.0 = sets;
        Ok(found)
    }
}

impl<D: RankDevice, G: Group> Ranks<D, G> {
    fn unscale_average(
        &self,
        set: &mut D::Grads,
        scale: &ScaleState,
    ) -> Result<FoundInf, Failed<D>> {
        self.agreed(Call::UnscaleAverage, &format!("{scale:?}"), |device| {
            let scale = device.upload_state(*scale)?;
            let found = device.unscale(set, &scale)?;
            read(device, &found)
        })
    }

    /// Returns the unscaled average of all ranks' shards, and their joint found-inf result.
    fn unscale_shards(
        &self,
        shards: &[Set<D>],
        scale: &ScaleState,
    ) -> Result<(Sets<D>, FoundInf), Failed<D>> {
        // A single set is its own average.
        let is_alone = self.group().ranks() == 1 && shards.len() == 1;
        let (model, found, packed, own) = self.own_part(|device| {
            let model = self.model_of(device, shards)?;
            if is_alone {
                let (found, own) = inspect(device, shards, scale)?;
                return Ok((model, found, Vec::new(), Some(own)));
            }
            let (packed, found) = packed(device, shards, &model)?;
            let found = finding_at(found, scale)
                .map_or_else(|| inspect(device, shards, scale).map(|(found, _)| found), Ok);
            Ok((model, self.with_rank(found?), packed, None))
        })?;
        let setting = format!("{} of {scale:?}", scale.factor());
        let (call, count) = (Call::Unscale, shards.len());
        let met = self.meet(Statement { call, setting, model, shards: count, found })?;
        let sets = match own {
            Some(own) => Sets::Average(own),
            None if met.found.overflow.is_some() => self.unsent(shards, met.model, scale)?,
            None => self.exchanged(&packed, &met, scale)?,
        };
        Ok((sets, met.found))
    }

    /// Returns the unscaled gradients of this rank's first shard.
    fn unsent(
        &self,
        shards: &[Set<D>],
        model: Vec<Entry>,
        scale: &ScaleState,
    ) -> Result<Sets<D>, Failed<D>> {
        let first = &shards[..shards.len().min(1)];
        let (_, own) = self.alone(|device| inspect(device, first, scale))?;
        Ok(Sets::Unsent(own, model))
    }

    /// Exchanges gradients, and returns their average.
    fn exchanged(
        &self,
        own: &[Shard],
        met: &Met,
        scale: &ScaleState,
    ) -> Result<Sets<D>, Failed<D>> {
        let shards = (&met.shards[..], own);
        let averages = self.buffers().averages(self.group(), &met.model, shards, self.is_sliced());
        let averages = self.kept(averages)?;
        self.divided(&met.model, averages, scale)
    }

    /// Returns the unscaled average of shards that were sent during backward, and the joint found-inf result of all ranks. The bits equal those of
    /// [`unscale_shards`](Self::unscale_shards).
    fn unscale_sent(
        &self,
        sent: Sent<D>,
        scale: &ScaleState,
    ) -> Result<(Sets<D>, FoundInf), Failed<D>> {
        let (model, found) = self.own_part(|device| {
            let model = self.model_of(device, &sent.sets)?;
            let found = finding_at(sent.found.clone(), scale)
                .map_or_else(|| inspect(device, &sent.sets, scale).map(|(found, _)| found), Ok);
            Ok((model, self.with_rank(found?)))
        })?;
        let setting =
            format!("{} of {scale:?}, {} bytes a bucket", scale.factor(), sent.bucket_bytes);
        let (call, shards) = (Call::UnscaleSent, sent.sets.len());
        let met = self.meet(Statement { call, setting, model, shards, found })?;
        let sets = if met.found.overflow.is_some() {
            // Averages that are still being computed are dropped with `sent`.
            self.unsent(&sent.sets, met.model, scale)?
        } else {
            let averages = self.kept(sent.pending.wait())?;
            self.divided(&met.model, averages, scale)?
        };
        Ok((sets, met.found))
    }

    /// Uploads averages of scaled gradients as the device's set, and unscales it.
    fn divided(
        &self,
        model: &[Entry],
        averages: Averages,
        scale: &ScaleState,
    ) -> Result<Sets<D>, Failed<D>> {
        let model: Vec<Entry> = model.iter().map(Entry::widened).collect();
        let set = self.alone(|device| {
            let upload = |(entry, values): (&Entry, Option<Vec<f32>>)| {
                let upload = |(spec, values): (&TensorSpec, Vec<f32>)| {
                    let own = [values.len()];
                    let shape = if self.is_sliced() { &own } else { &*spec.shape };
                    device.upload(&values, shape, DType::F32)
                };
                // Zeros were sent for a gradient that is missing on all ranks.
                let value = entry.spec.as_ref().zip(values).map(upload);
                Ok(Named { name: entry.name.clone(), value: value.transpose()? })
            };
            let set: Result<Set<D>, D::Error> = model.iter().zip(averages).map(upload).collect();
            let mut set = D::Grads::from(set?);
            // Finite gradients have a finite average, so this pass only divides.
            device.unscale(&mut set, &device.upload_state(*scale)?)?;
            Ok(set)
        })?;
        let slices = |set| Sets::Slices(SliceGrads { set, model });
        Ok(if self.is_sliced() { slices(set) } else { Sets::Average(set) })
    }

    /// Returns a found-inf result that names this rank, if there are several ranks.
    fn with_rank(&self, mut found: FoundInf) -> FoundInf {
        if let (Some(overflow), 2..) = (&mut found.overflow, self.group().ranks()) {
            overflow.rank = u32::try_from(self.group().rank()).ok();
        }
        found
    }

    /// Returns the union of the models of this rank's shards.
    fn model_of(&self, device: &D, shards: &[Set<D>]) -> Result<Vec<Entry>, Failed<D>> {
        model_of(device, shards).map_err(|values| shards_differ(self.group().rank(), values))
    }

    /// Runs a pass over an average. It returns an error if ranks differ in the found-inf result or in the arguments of the call.
    fn agreed(
        &self,
        call: Call,
        setting: &str,
        pass: impl FnOnce(&D) -> Result<FoundInf, D::Error>,
    ) -> Result<FoundInf, Failed<D>> {
        let found = self.own_part(|device| Ok(pass(device)?))?;
        self.meet(Statement::of(call, format!("{setting}: {found:?}")))?;
        Ok(found)
    }
}

/// Checks each shard's own gradients. Returns their joint found-inf result, and the first set, unscaled.
fn inspect<D: RankDevice>(
    device: &D,
    shards: &[Set<D>],
    scale: &ScaleState,
) -> Result<(FoundInf, D::Grads), D::Error> {
    let scale = device.upload_state(*scale)?;
    let (mut found, mut first) = (None, None);
    for shard in shards {
        let mut set = D::Grads::from(shard.clone());
        let own = device.unscale(&mut set, &scale)?;
        match &mut found {
            None => found = Some(own),
            Some(found) => device.merge(found, &own, MergeRule::Any)?,
        }
        first = first.or(Some(set));
    }
    let found = found.map_or(Ok(FoundInf::default()), |found| read(device, &found))?;
    Ok((found, first.unwrap_or_else(|| Vec::new().into())))
}

/// Returns the union of the models of a rank's shards.
fn model_of<D: RankDevice>(device: &D, shards: &[Set<D>]) -> Result<Vec<Entry>, model::Difference> {
    let entry = |grad: &Named<Option<D::Tensor>>| {
        let spec = |tensor| TensorSpec::new(device.dtype(tensor), device.shape(tensor));
        let spec = grad.value.as_ref().map(spec);
        Entry { name: grad.name.clone(), is_whole: spec.is_some(), spec }
    };
    let mut models = shards.iter().map(|set| set.iter().map(entry).collect::<Vec<_>>());
    let mut joint = models.next().unwrap_or_default();
    models.try_for_each(|model| model::join(&mut joint, &model))?;
    Ok(joint)
}

fn shards_differ<E>(rank: usize, values: model::Difference) -> RanksError<E> {
    RanksError::Desync(Desync { what: "the shards of one rank", ranks: vec![rank], values })
}

/// Returns the bytes of the shards' gradients, in their own types, and their found-inf result before unscaling.
fn packed<D: RankDevice>(
    device: &D,
    shards: &[Set<D>],
    model: &[Entry],
) -> Result<(Vec<Shard>, FoundInf), D::Error> {
    let mut joint = FoundInf::default();
    let mut packed = Vec::with_capacity(shards.len());
    for set in shards {
        let mut found = FoundInf::default();
        let mut shard = Shard::with_capacity(set.len());
        for (Named { value, .. }, Entry { name, spec, .. }) in set.iter().zip(model) {
            let (Some(tensor), Some(spec)) = (value, spec) else {
                shard.push(None);
                continue;
            };
            let raw = packed_as(spec, &device.download(tensor)?, name, &mut found);
            let unsupported =
                || TrainError::unsupported::<D>("Download::download of such gradients");
            shard.push(Some(raw.ok_or_else(|| device.train_error(unsupported()))?));
        }
        joint.merge(&found, MergeRule::Any);
        packed.push(shard);
    }
    Ok((packed, joint))
}

/// Returns the found-inf result of unscaling, computed from the result before unscaling; `None` if that needs a pass over the gradients.
fn finding_at(found: FoundInf, scale: &ScaleState) -> Option<FoundInf> {
    Some(FoundInf { halted: scale.diverged, ..unscaled(found, scale.inverse())? })
}

/// If ranks have slices of a sum, `save_grads` gathers them, so every rank has to call it.
impl<D: RankDevice, G: Group> GradOps for Ranks<D, G> {
    fn clip_norm(
        &self,
        grads: &mut RankGrads<D>,
        norm: Norm,
        max: f32,
        verdict: &mut FoundInf,
    ) -> Result<(), Self::Error> {
        let is_sent = !matches!(grads.0, Sets::Unsent(..));
        let setting = format!("{norm:?} norm of at most {max}");
        if let Sets::Slices(slices) = &mut grads.0 {
            // An invalid limit gives the device's error.
            let none = &mut SliceGrads::<D>::none_of(Vec::new()).set;
            self.own_part(|device| {
                let mut found = device.upload_found(verdict)?;
                Ok(device.clip_norm(none, norm, max, &mut found)?)
            })?;
            let places = vec![Some(0); slices.model.len()];
            let clips = Clips { places: &places, limits: &[(norm, max)] };
            let norms = self.clip_slices(slices, clips, (Call::ClipNorm, setting))?;
            for norm in norms {
                verdict.record_norm(norm);
            }
            return Ok(());
        }
        let set = grads.average()?;
        *verdict = self.agreed(Call::ClipNorm, &setting, |device| {
            let mut found = device.upload_found(verdict)?;
            device.clip_norm(set, norm, max, &mut found)?;
            let mut found = read(device, &found)?;
            if !is_sent {
                // Norm of gradients with an infinite or NaN element.
                found.record_norm(if found.nans > 0 { f64::NAN } else { f64::INFINITY });
            }
            Ok(found)
        })?;
        Ok(())
    }

    fn clip_groups(
        &self,
        grads: &mut RankGrads<D>,
        groups: &[ClipGroup],
        verdict: &mut FoundInf,
    ) -> Result<(), Self::Error> {
        if let Sets::Slices(slices) = &mut grads.0 {
            let names = slices.model.iter().map(|entry| &*entry.name);
            let places = self.own_part(|device| {
                Ok(ClipGroup::places(groups, names).map_err(|error| device.train_error(error))?)
            })?;
            let limits: Vec<_> = groups.iter().map(|group| (group.norm, group.max)).collect();
            let clips = Clips { places: &places, limits: &limits };
            let setting = (Call::ClipGroups, format!("{groups:?}"));
            let norms = self.clip_slices(slices, clips, setting)?;
            for (group, norm) in groups.iter().zip(norms) {
                verdict.check_norm(&group.norm_name(), norm);
            }
            return Ok(());
        }
        let set = grads.average()?;
        *verdict = self.agreed(Call::ClipGroups, &format!("{groups:?}"), |device| {
            let mut found = device.upload_found(verdict)?;
            device.clip_groups(set, groups, &mut found)?;
            read(device, &found)
        })?;
        Ok(())
    }

    fn clip_value(&self, grads: &mut RankGrads<D>, max: f32) -> Result<(), Self::Error> {
        let set = grads.average()?;
        self.alone(|device| device.clip_value(set, max))
    }

    fn accumulate(
        &self,
        sum: Option<RankGrads<D>>,
        grads: RankGrads<D>,
        found: &FoundInf,
    ) -> Result<RankGrads<D>, Self::Error> {
        if self.is_sliced() {
            return self.accumulate_slices(sum, grads, found);
        }
        let (sum, grads) = (sum.map(RankGrads::into_average).transpose()?, grads.into_average()?);
        let sum =
            self.alone(|device| device.accumulate(sum, grads, &device.upload_found(found)?))?;
        Ok(RankGrads(Sets::Average(sum)))
    }

    fn grad_specs(&self, params: &D::Params) -> Result<Vec<Named<TensorSpec>>, Self::Error> {
        self.alone(|device| device.grad_specs(params))
    }

    fn save_grads(&self, grads: &RankGrads<D>) -> Result<NamedGrads<RawTensor>, Self::Error> {
        match &grads.0 {
            Sets::Average(set) | Sets::Unsent(set, _) => {
                self.alone(|device| device.save_grads(set))
            }
            Sets::Slices(slices) if self.saves_slices() => self.save_own_grads(slices),
            Sets::Slices(slices) => self.gather_grads(Call::SaveGrads, slices),
            Sets::Shards(_) | Sets::Sent(_) => Err(RanksError::NotAveraged),
        }
    }

    fn load_grads(
        &self,
        params: &D::Params,
        saved: &NamedGrads<RawTensor>,
    ) -> Result<RankGrads<D>, Self::Error> {
        if self.is_sliced() {
            return self.cut_grads(saved);
        }
        let set = self.alone(|device| device.load_grads(params, saved))?;
        Ok(RankGrads(Sets::Average(set)))
    }
}
