//! Parameters and their state as bytes, and back: both wait for the device.

use super::{Masters, slot::Slot};
use crate::{Cuda, Error, Tensor};
use binade_core::{Form, Named, RawTensor};
use binade_master_weights::{Kind, LoadError, ParameterForm, SavedParameter, Snapshot, fits};
use std::collections::HashMap;
use std::sync::Arc;

impl Tensor {
    /// Its type and shape.
    pub fn form(&self) -> Form {
        Form::new(self.dtype(), self.shape())
    }
}

impl Cuda {
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

impl Snapshot for Cuda {
    fn forms(
        &self,
        params: &Vec<Named<Tensor>>,
        masters: &Masters,
    ) -> Result<Vec<ParameterForm>, Error> {
        let form = |param: &Named<Tensor>| {
            let kept = masters.kept(&param.name).into_iter();
            let kept = kept.map(|(kind, tensor)| (kind, tensor.form())).collect();
            ParameterForm { name: param.name.clone(), value: param.value.form(), kept }
        };
        Ok(params.iter().map(form).collect())
    }

    fn save(
        &self,
        params: &Vec<Named<Tensor>>,
        masters: &Masters,
    ) -> Result<Vec<SavedParameter>, Error> {
        let applied = self.read(&masters.applied)?;
        let (applied, _) = applied.as_chunks();
        let one = |param: &Named<Tensor>| {
            let raw = |(kind, tensor): (Kind, &Tensor)| Ok((kind, self.to_raw(tensor)?));
            let kept = masters.kept(&param.name).into_iter().map(raw);
            let number = masters.slots.get(&param.name).map(|slot| slot.number as usize);
            let applied = number.and_then(|number| applied.get(number)).copied();
            Ok(SavedParameter {
                name: param.name.clone(),
                value: self.to_raw(&param.value)?,
                applied: applied.map_or(0, u64::from_le_bytes),
                kept: kept.collect::<Result<_, Error>>()?,
            })
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
        // All of it on the device before any of it is in place.
        let uploaded =
            saved.iter().map(|saved| self.uploaded(saved)).collect::<Result<Vec<_>, _>>();
        let uploaded = uploaded.map_err(LoadError::Device)?;
        let applied = self.buffer_of(&masters.counts(&saved)).map_err(LoadError::Device)?;
        for (param, Uploaded { value, mut kept }) in params.iter_mut().zip(uploaded) {
            param.value = value;
            if let Some(slot) = masters.slots.get_mut(&param.name) {
                slot.put(&mut kept);
            }
        }
        let most = saved.iter().map(|saved| saved.applied).max().unwrap_or(0);
        (masters.applied, masters.attempts) = (applied, masters.attempts.max(most));
        Ok(())
    }
}

/// A parameter on its way back.
struct Uploaded {
    value: Tensor,
    kept: HashMap<Kind, Tensor>,
}

impl Cuda {
    fn uploaded(&self, saved: &SavedParameter) -> Result<Uploaded, Error> {
        let one = |(kind, raw): &(Kind, RawTensor)| Ok((kind.clone(), self.from_raw(raw)?));
        let kept = saved.kept.iter().map(one).collect::<Result<_, Error>>()?;
        Ok(Uploaded { value: self.from_raw(&saved.value)?, kept })
    }
}

impl Masters {
    fn kept(&self, name: &Arc<str>) -> Vec<(Kind, &Tensor)> {
        self.slots.get(name).map(Slot::kept).unwrap_or_default()
    }

    /// The counts of applied steps by the slots' numbers.
    fn counts(&self, saved: &[&SavedParameter]) -> Vec<u8> {
        let mut counts = vec![0_u64; self.slots.len()];
        for saved in saved {
            let number = self.slots.get(&saved.name).map(|slot| slot.number as usize);
            if let Some(count) = number.and_then(|number| counts.get_mut(number)) {
                *count = saved.applied;
            }
        }
        counts.into_iter().flat_map(u64::to_le_bytes).collect()
    }
}

impl Slot {
    /// All that is kept, but the count.
    fn kept(&self) -> Vec<(Kind, &Tensor)> {
        let master = self.master.iter().map(|master| (Kind::Master, master));
        let moments = (0..).map(Kind::Moment).zip(&self.moments);
        let moments = moments.filter_map(|(kind, moment)| Some((kind, moment.as_ref()?)));
        master.chain(moments).collect()
    }

    /// Puts back what [`kept`](Self::kept) tells.
    fn put(&mut self, kept: &mut HashMap<Kind, Tensor>) {
        let mut put = |kind: Kind, place: &mut Option<Tensor>| {
            if let Some(tensor) = kept.remove(&kind) {
                *place = Some(tensor);
            }
        };
        put(Kind::Master, &mut self.master);
        (0..).map(Kind::Moment).zip(&mut self.moments).for_each(|(kind, place)| put(kind, place));
    }
}
