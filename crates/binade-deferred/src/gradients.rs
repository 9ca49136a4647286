//! Sets of gradients on the device.

use crate::{Deferred, Error, Found, Tensor, late::Late, tensor::Like};
use binade_core::{DType, GradSet, Named, NamedGrads, TrainError};
use binade_cpu::Cpu;
use std::{fmt, sync::Arc};

/// Gradients by parameter. Names and shapes are known now, values are computed later. A gradient that only bad micro-batches had
/// may turn out to be missing.
#[derive(Clone)]
pub struct Gradients {
    pub(crate) likes: Vec<Named<Option<Like>>>,
    source: Source,
}

#[derive(Clone)]
enum Source {
    /// Tensors as backward left them.
    Tensors(Vec<Named<Option<Late<binade_cpu::Tensor>>>>),
    /// Set as the last operation on it left it.
    Set(Late<binade_cpu::Gradients>),
}

impl Gradients {
    /// Returns the parameters' names, in order, with or without a gradient.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.likes.iter().map(|entry| &entry.name)
    }

    /// Replaces this set by what `work` makes of it, and returns the result of `work`.
    pub(crate) fn change<T: Send + Sync + 'static>(
        &mut self,
        device: &Deferred,
        work: impl FnOnce(&mut binade_cpu::Gradients) -> Result<T, Error> + Send + 'static,
    ) -> Late<T> {
        let (after, told) = (Late::empty(), Late::empty());
        let before = std::mem::replace(&mut self.source, Source::Set(after.clone()));
        let place = told.clone();
        device.push(move || {
            let outcome = before.take().and_then(|mut set| Ok((work(&mut set)?, set)));
            match outcome {
                Ok((answer, set)) => (place.set(Ok(answer)), after.set(Ok(set))),
                Err(error) => (place.set(Err(error.clone())), after.set(Err(error))),
            };
        });
        told
    }

    /// Makes a set like this, whose values will be in `set`.
    pub(crate) fn later(likes: Vec<Named<Option<Like>>>, set: Late<binade_cpu::Gradients>) -> Self {
        Self { likes, source: Source::Set(set) }
    }

    /// Returns the gradients that are present: those of a set that has been computed, or all that may be there before.
    pub(crate) fn present(&self) -> Vec<Named<Option<Like>>> {
        let mut likes = self.likes.clone();
        if let Source::Set(set) = &self.source
            && let Ok(set) = set.get()
        {
            let entries = likes.iter_mut().zip(set.as_stored());
            entries
                .filter(|(_, entry)| entry.value.is_none())
                .for_each(|(like, _)| like.value = None);
        }
        likes
    }

    /// Returns the values, within a job.
    pub(crate) fn take(self) -> Result<binade_cpu::Gradients, Error> {
        self.source.take()
    }
}

impl Source {
    fn take(self) -> Result<binade_cpu::Gradients, Error> {
        let entries = match self {
            Self::Set(set) => return set.take(),
            Self::Tensors(entries) => entries,
        };
        let value = |entry: Named<Option<Late<binade_cpu::Tensor>>>| {
            let value = entry.value.map(Late::take).transpose()?;
            Ok(Named { name: entry.name, value })
        };
        Ok(entries.into_iter().map(value).collect::<Result<Vec<_>, Error>>()?.into())
    }
}

impl From<Vec<Named<Option<Tensor>>>> for Gradients {
    fn from(entries: Vec<Named<Option<Tensor>>>) -> Self {
        let like = |entry: &Named<Option<Tensor>>| Named {
            name: entry.name.clone(),
            value: entry.value.as_ref().map(Tensor::like),
        };
        let likes = entries.iter().map(like).collect();
        let late = |entry: Named<Option<Tensor>>| Named {
            name: entry.name,
            value: entry.value.map(|tensor| tensor.value().clone()),
        };
        Self { likes, source: Source::Tensors(entries.into_iter().map(late).collect()) }
    }
}

impl fmt::Debug for Gradients {
    /// Prints names and shapes, since printing must not read the device.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gradients").field("likes", &self.likes).finish_non_exhaustive()
    }
}

impl GradSet for Deferred {
    type Params = Vec<Named<Tensor>>;
    type Grads = Gradients;
    type Found = Found;

    fn train_error(&self, error: TrainError) -> Error {
        Error::Cpu(error.into())
    }

    fn is_raised(&self, found: &Found) -> Result<bool, Error> {
        self.look("is_raised")?;
        Ok(found.0.get()?.is_raised())
    }

    /// Returns the gradients as `f32` tensors. If the set has not been computed, a gradient that turns out to be missing is
    /// zeros, since its tensor was promised.
    fn materialise(&self, grads: Gradients) -> Result<NamedGrads<Tensor>, Error> {
        let plain = |like: Like| Like { dtype: DType::F32, ..like };
        let tensor = |entry: Named<Option<Like>>| Named {
            name: entry.name,
            value: entry.value.map(|like| Tensor::later(plain(like))),
        };
        let tensors: NamedGrads<Tensor> = grads.present().into_iter().map(tensor).collect();
        let promised = |entry: &Named<Option<Tensor>>| entry.value.clone();
        let promised: Vec<Option<Tensor>> = tensors.iter().map(promised).collect();
        let places = promised.iter().flatten().map(|tensor| tensor.value().clone()).collect();
        self.fill(places, move || {
            let values = Cpu.materialise(grads.take()?)?.into_iter().zip(promised);
            let kept = values.filter_map(|(entry, tensor)| Some((entry.value, tensor?)));
            kept.map(|(value, tensor)| value.map_or_else(|| zeros(tensor.shape()), Ok)).collect()
        });
        Ok(tensors)
    }
}

fn zeros(shape: &[usize]) -> Result<binade_cpu::Tensor, Error> {
    let values = vec![0.0; shape.iter().product()];
    Ok(binade_cpu::Tensor::from_f32(values, shape, DType::F32)?)
}
