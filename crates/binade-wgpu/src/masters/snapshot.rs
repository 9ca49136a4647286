//! Parameters and their state as bytes, and back: both wait for the device.

use super::{Masters, kept::Kept, slot::Slot};
use crate::{Error, Tensor, Wgpu, dispatch::structs::AppliedRow};
use binade_core::{Form, Misfit, Named, RawTensor};
use binade_master_weights::{Kind, LoadError, ParameterForm, SavedParameter, Snapshot, fits};
use binade_ops::Download;
use std::collections::HashMap;

impl Tensor {
    /// Its type and shape.
    pub fn form(&self) -> Form {
        Form::new(self.dtype(), self.shape())
    }
}

impl Wgpu {
    /// A tensor's elements as a file has them. Waits for the device.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn to_raw(&self, tensor: &Tensor) -> Result<RawTensor, Error> {
        let bytes = self.to_bits(tensor)?;
        let (found, shape, expected) = (bytes.len(), tensor.shape().to_vec(), tensor.bytes());
        let short = Error::Length { what: "bytes", found, shape, expected };
        RawTensor::new(tensor.form(), bytes).ok_or(short)
    }

    /// A tensor of the elements that a file has.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn from_raw(&self, raw: &RawTensor) -> Result<Tensor, Error> {
        self.from_bits(raw.bytes(), raw.form().dtype, &raw.form().shape)
    }
}

impl Snapshot for Wgpu {
    fn forms(
        &self,
        params: &Vec<Named<Tensor>>,
        masters: &Masters,
    ) -> Result<Vec<ParameterForm>, Error> {
        let form = |param: &Named<Tensor>| {
            let kept = masters.slots.get(&param.name).map(|slot| slot.forms(param.value.shape()));
            let (name, value) = (param.name.clone(), param.value.form());
            ParameterForm { name, value, kept: kept.unwrap_or_default() }
        };
        Ok(params.iter().map(form).collect())
    }

    fn save(
        &self,
        params: &Vec<Named<Tensor>>,
        masters: &Masters,
    ) -> Result<Vec<SavedParameter>, Error> {
        let applied = masters.read_applied(self)?;
        let one = |param: &Named<Tensor>| {
            let (name, value) = (param.name.clone(), self.to_raw(&param.value)?);
            let Some(slot) = masters.slots.get(&name) else {
                return Ok(SavedParameter { name, value, applied: 0, kept: Vec::new() });
            };
            let kept = slot.saved(self, param.value.shape())?;
            let applied = applied.get(slot.number as usize).map_or(0, |row| row.steps);
            Ok(SavedParameter { name, value, applied, kept })
        };
        params.iter().map(one).collect()
    }

    fn load(
        &self,
        params: &mut Vec<Named<Tensor>>,
        masters: &mut Masters,
        saved: &[SavedParameter],
    ) -> Result<(), LoadError<Error>> {
        let forms = self.forms(params, masters).map_err(LoadError::Device)?;
        let saved = fits(&forms, saved)?;
        saved.iter().try_for_each(|saved| masters.has_number(saved))?;
        // All of it on the device before any of it is in place.
        let uploaded =
            saved.iter().map(|saved| self.uploaded(saved)).collect::<Result<Vec<_>, _>>();
        let uploaded = uploaded.map_err(LoadError::Device)?;
        let applied = self
            .buffer_of(bytemuck::cast_slice(&masters.counts(&saved)))
            .map_err(LoadError::Device)?;
        for (param, Uploaded { value, mut kept }) in params.iter_mut().zip(uploaded) {
            param.value = value;
            if let Some(slot) = masters.slots.get_mut(&param.name) {
                slot.put(&mut kept);
            }
        }
        let most = saved.iter().map(|saved| saved.applied).max().unwrap_or(0);
        masters.applied = applied;
        masters.attempts = masters.attempts.max(most);
        Ok(())
    }

    fn export_f32(
        &self,
        params: &Vec<Named<Tensor>>,
        masters: &Masters,
    ) -> Result<Vec<Named<Vec<f32>>>, Error> {
        let exported = |Named { name, value }: &Named<Tensor>| {
            let values = match masters.slots.get(name) {
                Some(slot) => slot.values(self, value)?,
                None => self.download(value)?,
            };
            Ok(Named::new(name.clone(), values))
        };
        params.iter().map(exported).collect()
    }
}

/// A parameter on its way back.
struct Uploaded {
    value: Tensor,
    kept: HashMap<Kind, Tensor>,
}

impl Wgpu {
    fn uploaded(&self, saved: &SavedParameter) -> Result<Uploaded, Error> {
        let value = self.from_raw(&saved.value)?;
        let one = |(kind, raw): &(Kind, RawTensor)| {
            // Halves of masters are words beside the parameter's own.
            let beside = matches!(kind, Kind::Remainder);
            let dtype = if beside { value.dtype() } else { raw.form().dtype };
            let shape = if beside { value.shape() } else { &raw.form().shape };
            Ok((*kind, Tensor::filling(self.buffer_of(raw.bytes())?, dtype, shape)))
        };
        let kept = saved.kept.iter().map(one).collect::<Result<_, Error>>()?;
        Ok(Uploaded { value, kept })
    }
}

impl Masters {
    /// A parameter's number is its place among counts, and cannot be another.
    fn has_number(&self, saved: &SavedParameter) -> Result<(), Misfit> {
        let number = saved.kept.iter().find(|(kind, _)| *kind == Kind::Number);
        let own = self.slots.get(&saved.name).map(|slot| slot.number.to_le_bytes());
        match number.zip(own) {
            Some(((_, raw), own)) if raw.bytes() != own => {
                let what = "number of another place in the set: give parameters in the order that was saved; it";
                Misfit::check(what, &saved.name, Some(raw.form()), None)
            }
            _ => Ok(()),
        }
    }

    /// The counts of applied steps by the slots' numbers, of which the last lost nothing.
    fn counts(&self, saved: &[&SavedParameter]) -> Vec<AppliedRow> {
        let mut counts = vec![AppliedRow::default(); self.slots.len().max(1)];
        for saved in saved {
            let number = self.slots.get(&saved.name).map(|slot| slot.number as usize);
            if let Some(count) = number.and_then(|number| counts.get_mut(number)) {
                count.steps = saved.applied;
            }
        }
        counts
    }
}

impl Slot {
    /// All that is kept but the count, where it is a tensor; a number is none.
    fn listed(&self) -> Vec<(Kind, Option<&Tensor>)> {
        let beside = self.kept.listed();
        let moments = (0..).map(Kind::Moment).zip(&self.moments);
        let moments = moments.filter_map(|(kind, moment)| Some((kind, Some(moment.as_ref()?))));
        beside.into_iter().chain(moments).collect()
    }

    fn forms(&self, shape: &[usize]) -> Vec<(Kind, Form)> {
        let form = |(kind, _): (Kind, _)| (kind, kind.form(self.stored, shape));
        self.listed().into_iter().map(form).collect()
    }

    fn saved(&self, wgpu: &Wgpu, shape: &[usize]) -> Result<Vec<(Kind, RawTensor)>, Error> {
        let one = |(kind, tensor): (Kind, Option<&Tensor>)| {
            let bytes = match tensor {
                Some(tensor) => wgpu.to_bits(tensor)?,
                None => self.number.to_le_bytes().into(),
            };
            let (form, found) = (kind.form(self.stored, shape), bytes.len());
            let expected = form.bytes().unwrap_or(usize::MAX);
            let short = Error::Length { what: "bytes", found, shape: form.shape.clone(), expected };
            Ok((kind, RawTensor::new(form, bytes).ok_or(short)?))
        };
        self.listed().into_iter().map(one).collect()
    }

    /// Puts back what [`listed`](Self::listed) names.
    fn put(&mut self, kept: &mut HashMap<Kind, Tensor>) {
        let moments = (0..).map(Kind::Moment).zip(self.moments.iter_mut());
        let moments = moments.filter_map(|(kind, moment)| Some((kind, moment.as_mut()?)));
        for (kind, place) in self.kept.places().into_iter().chain(moments) {
            if let Some(tensor) = kept.remove(&kind) {
                *place = tensor;
            }
        }
    }
}

impl Kept {
    fn listed(&self) -> Vec<(Kind, Option<&Tensor>)> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Copy(kept) => vec![(Kind::Master, Some(kept))],
            Self::Remainder(kept) => vec![(Kind::Remainder, Some(kept))],
            Self::Stochastic { .. } => vec![(Kind::Number, None)],
            Self::Kahan(kept) => vec![(Kind::Compensation, Some(kept))],
            Self::Scaled(kept) => vec![
                (Kind::ScaledMaster, Some(&kept.values)),
                (Kind::Exponent, Some(&kept.exponent)),
            ],
        }
    }

    /// Where the tensors of [`listed`](Self::listed) are.
    fn places(&mut self) -> Vec<(Kind, &mut Tensor)> {
        match self {
            Self::Nothing | Self::Stochastic { .. } => Vec::new(),
            Self::Copy(kept) => vec![(Kind::Master, kept)],
            Self::Remainder(kept) => vec![(Kind::Remainder, kept)],
            Self::Kahan(kept) => vec![(Kind::Compensation, kept)],
            Self::Scaled(kept) => {
                vec![(Kind::ScaledMaster, &mut kept.values), (Kind::Exponent, &mut kept.exponent)]
            }
        }
    }
}
