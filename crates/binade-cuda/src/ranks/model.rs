//! Models that all ranks are known to have: types and shapes of the gradients that any of them has had.

use super::{
    CudaRank,
    communicator::Move,
    device::hash,
    layout::{Layout, Spec},
    meeting::Call,
};
use crate::{CudaError, Error, Gradients, Tensor, chunks::supported};
use binade_core::{DType, Named};
use binade_gpu::Driver;
use std::sync::Arc;

/// Types of gradients, by the word that stands for them, from 1.
const TYPES: [DType; 3] = [DType::F32, DType::BF16, DType::F16];

/// Gradients of a set of parameters, as all ranks send them.
pub(super) struct Model {
    specs: Vec<Spec>,
    pub(super) layout: Layout,
    /// Hash of names, types and shapes.
    pub(super) hash: u64,
}

impl CudaRank {
    /// Returns the model of the set's parameters. If this rank has a gradient that no rank has had, all ranks communicate, and the host waits.
    pub(super) fn model(&self, own: &Gradients) -> Result<Arc<Model>, Error> {
        let names = hash(&own.entries.iter().map(|entry| &entry.name).collect::<Vec<_>>());
        let specs = specs(own);
        // The last used of the models with these names that may contain these gradients; two networks can have the same names.
        let last = self.take_model(names, &specs);
        if let Some(model) = last.as_ref().filter(|model| model.covers(&specs)) {
            self.keep_model(names, model.clone());
            return Ok(model.clone());
        }
        if let Some(model) = last {
            self.keep_model(names, model);
        }
        for grad in own.present() {
            supported("average gradients of", grad.tensor)?;
        }
        self.agree(Call::Model, 0, names)?;
        let mut joint = vec![None; specs.len()];
        for (rank, theirs) in self.gather_words(&encode(&specs))?.iter().enumerate() {
            join(own, &mut joint, rank, &decode(theirs))
                .map_err(|error| self.communicator().ends(error))?;
        }
        // Adds the gradients to the known part of the same model.
        if let Some(model) = self.take_model(names, &joint) {
            let add = |(joint, spec): (&mut Spec, &Spec)| *joint = joint.take().or(spec.clone());
            joint.iter_mut().zip(&model.specs).for_each(add);
        }
        let (layout, hash) = (Layout::of(joint.clone()), hash(&(names, &joint)));
        let model = Arc::new(Model { specs: joint, layout, hash });
        self.keep_model(names, model.clone());
        Ok(model)
    }

    /// Takes the last of the models with these names whose gradients have the same types and shapes.
    fn take_model(&self, names: u64, specs: &[Spec]) -> Option<Arc<Model>> {
        let mut models = self.models();
        let models = models.get_mut(&names)?;
        models.iter().rposition(|model| model.agrees(specs)).map(|place| models.remove(place))
    }

    fn keep_model(&self, names: u64, model: Arc<Model>) {
        self.models().entry(names).or_default().push(model);
    }

    /// Returns the words of all ranks, by rank, with zeros behind them. The host waits.
    fn gather_words(&self, own: &[u64]) -> Result<Vec<Vec<u64>>, Error> {
        let lengths = self.gather_equal(&[own.len() as u64])?;
        let longest = lengths.into_iter().flatten().max().unwrap_or_default();
        let mut own = own.to_vec();
        own.resize(usize::try_from(longest).unwrap_or_default(), 0);
        self.gather_equal(&own)
    }

    /// Returns the words of all ranks; each rank has the same number. The host waits.
    fn gather_equal(&self, own: &[u64]) -> Result<Vec<Vec<u64>>, Error> {
        let (cuda, bytes) = (self.cuda(), size_of_val(own));
        if bytes == 0 {
            return Ok(vec![Vec::new(); self.communicator().ranks()]);
        }
        let sent = cuda.buffer_of(bytemuck::cast_slice(own))?;
        let all = cuda.buffer(bytes * self.communicator().ranks())?;
        let gather = Move::AllGather { own: sent.address(), at: all.address(), bytes };
        self.kept(self.communicator().run("all_gather", &[gather]))?;
        self.wait()?;
        let all = cuda.read_bytes(&all, 0..all.bytes())?;
        let words = |rank: &[u8]| rank.chunks(8).map(bytemuck::pod_read_unaligned).collect();
        Ok(all.chunks(bytes).map(words).collect())
    }
}

impl Model {
    /// Returns true if every gradient has its place.
    fn covers(&self, own: &[Spec]) -> bool {
        own.iter().zip(&self.specs).all(|(own, spec)| own.is_none() || own == spec)
    }

    /// Returns true if no gradient is of another type or shape.
    fn agrees(&self, specs: &[Spec]) -> bool {
        let is_same = |(one, other): (&Spec, &Spec)| {
            one.as_ref().zip(other.as_ref()).is_none_or(|(one, other)| one == other)
        };
        self.specs.iter().zip(specs).all(is_same)
    }

    /// Returns true if a rank with these gradients has all gradients of the model.
    pub(super) fn is_whole(&self, own: &Gradients) -> bool {
        own.entries.iter().zip(&self.specs).all(|(own, spec)| own.value.is_some() == spec.is_some())
    }
}

fn specs(set: &Gradients) -> Vec<Spec> {
    let spec = |entry: &Named<Option<Tensor>>| {
        entry.value.as_ref().map(|tensor| (tensor.dtype(), tensor.shape().to_vec()))
    };
    set.entries.iter().map(spec).collect()
}

/// Adds the gradients of a rank, of the types and shapes that other ranks have.
fn join(own: &Gradients, joint: &mut [Spec], rank: usize, theirs: &[Spec]) -> Result<(), Error> {
    for ((entry, joint), theirs) in own.entries.iter().zip(joint).zip(theirs) {
        match (&joint, theirs) {
            (Some(one), Some(other)) if one != other => {
                let text = |(dtype, shape): &(DType, Vec<usize>)| {
                    format!("`{}` {dtype} {shape:?}", entry.name)
                };
                let (what, values) = ("the gradient of a parameter", [one, other].map(text));
                return Err(Error::Driver(CudaError::Desync { what, rank, values }));
            }
            (None, Some(_)) => joint.clone_from(theirs),
            _ => {}
        }
    }
    Ok(())
}

/// Returns specs as words: for each gradient the word of its type, or 0, the number of its axes, and these.
fn encode(specs: &[Spec]) -> Vec<u64> {
    let mut words = Vec::new();
    for spec in specs {
        let Some((dtype, shape)) = spec else {
            words.push(0);
            continue;
        };
        let place = TYPES.iter().position(|of| of == dtype).map_or(0, |place| place + 1);
        words.extend([place as u64, shape.len() as u64]);
        words.extend(shape.iter().map(|side| *side as u64));
    }
    words
}

/// Returns the specs of these words. Zeros behind them are gradients that are missing.
fn decode(words: &[u64]) -> Vec<Spec> {
    let mut words = words.iter().map(|word| usize::try_from(*word).unwrap_or(usize::MAX));
    let mut specs = Vec::new();
    while let Some(place) = words.next() {
        let dtype = place.checked_sub(1).and_then(|place| TYPES.get(place));
        specs.push(dtype.map(|dtype| {
            let axes = words.next().unwrap_or_default();
            (*dtype, words.by_ref().take(axes).collect())
        }));
    }
    specs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_are_read_back_as_they_were_written() {
        let specs = [
            None,
            Some((DType::F16, vec![2, 0, 3])),
            None,
            Some((DType::F32, vec![])),
            Some((DType::BF16, vec![7])),
        ];
        let mut words = encode(&specs);
        assert_eq!(decode(&words), specs);
        words.extend([0; 4]);
        assert_eq!(decode(&words)[..5], specs);
        assert_eq!(decode(&words)[5..], vec![None; 4]);
    }
}
