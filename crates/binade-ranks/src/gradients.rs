//! Gradients of a rank.

use crate::{
    Group, RankDevice, Ranks, RanksError, device::Failed, header::Call, model::Entry,
    sending::Sent, slice_grads::upload,
};
use binade_core::{FoundInf, GradSet, Handle, Named, NamedGrads, TrainError};
use binade_grad_scaler::{GradScaler, ScaleState};
use std::{fmt, ops::Range};

/// Gradients of a rank: one set for each of its shards of the batch until `unscale`, then the average over all ranks. If any rank overflowed, they
/// stay this rank's own gradients, for inspection only: no step uses them.
///
/// A rank with one shard gives its set, as a tape's `backward` returns it. A rank with several shards gives a list of sets. All shards of all ranks
/// have equal weight. Each rank has at least one shard.
///
/// With [`Partition::Slices`](crate::Partition) each rank keeps only its slice of the average.
pub struct RankGrads<D: GradSet>(pub(crate) Sets<D>);

pub(crate) enum Sets<D: GradSet> {
    /// Sets of this rank's shards.
    Shards(Vec<NamedGrads<D::Tensor>>),
    /// Sets of this rank's shards, whose average is being computed.
    Sent(Sent<D>),
    /// Average, the same on all ranks.
    Average(D::Grads),
    /// This rank's slices of the average.
    Slices(SliceGrads<D>),
    /// Gradients of this rank's first shard, because some rank overflowed: no step uses them. The entries list all parameters.
    Unsent(D::Grads, Vec<Entry>),
}

/// Averages of a rank's slice of every gradient.
pub(crate) struct SliceGrads<D: GradSet> {
    /// One-dimensional tensors, some of them empty.
    pub(crate) set: D::Grads,
    /// Names, types and shapes of the whole gradients, which are `f32`.
    pub(crate) model: Vec<Entry>,
}

impl<D: GradSet> RankGrads<D> {
    /// Returns the average, this rank's slices of it, or this rank's own set if some rank overflowed.
    pub(crate) fn average(&mut self) -> Result<&mut D::Grads, Failed<D>> {
        match &mut self.0 {
            Sets::Average(set) | Sets::Slices(SliceGrads { set, .. }) | Sets::Unsent(set, _) => {
                Ok(set)
            }
            Sets::Shards(_) | Sets::Sent(_) => Err(RanksError::NotAveraged),
        }
    }

    pub(crate) fn into_average(self) -> Result<D::Grads, Failed<D>> {
        match self.0 {
            Sets::Average(set) | Sets::Slices(SliceGrads { set, .. }) | Sets::Unsent(set, _) => {
                Ok(set)
            }
            Sets::Shards(_) | Sets::Sent(_) => Err(RanksError::NotAveraged),
        }
    }
}

impl<D: GradSet<Grads: From<NamedGrads<D::Tensor>>>> RankGrads<D> {
    /// Returns this rank's slices of the average. After an overflow it returns all parameters without gradients.
    pub(crate) fn into_slices(self) -> Result<SliceGrads<D>, Failed<D>> {
        match self.0 {
            Sets::Slices(slices) => Ok(slices),
            Sets::Unsent(_, model) => Ok(SliceGrads::none_of(model)),
            Sets::Average(_) | Sets::Shards(_) | Sets::Sent(_) => Err(RanksError::NotAveraged),
        }
    }
}

impl<D: GradSet<Grads: From<NamedGrads<D::Tensor>>>> SliceGrads<D> {
    /// Makes the set in which no parameter has a gradient.
    pub(crate) fn none_of(model: Vec<Entry>) -> Self {
        let without = |entry: Entry| Entry { spec: None, is_whole: false, ..entry };
        let model: Vec<Entry> = model.into_iter().map(without).collect();
        let names = model.iter().map(|entry| Named { name: entry.name.clone(), value: None });
        Self { set: names.collect::<Vec<_>>().into(), model }
    }
}

/// Makes the set of a rank with one shard.
impl<D: GradSet> From<Vec<Named<Option<D::Tensor>>>> for RankGrads<D> {
    fn from(set: NamedGrads<D::Tensor>) -> Self {
        Self(Sets::Shards(vec![set]))
    }
}

/// Makes the sets of a rank with several shards, in the order in which they are added.
impl<D: GradSet> FromIterator<Vec<Named<Option<D::Tensor>>>> for RankGrads<D> {
    fn from_iter<I: IntoIterator<Item = NamedGrads<D::Tensor>>>(sets: I) -> Self {
        Self(Sets::Shards(sets.into_iter().collect()))
    }
}

impl<D: GradSet> fmt::Debug for RankGrads<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Sets::Shards(sets) => write!(f, "RankGrads({} shards)", sets.len()),
            Sets::Sent(sent) => write!(f, "RankGrads({} shards, sent)", sent.sets.len()),
            Sets::Average(_) => f.write_str("RankGrads(average)"),
            Sets::Slices(_) => f.write_str("RankGrads(slices of the average)"),
            Sets::Unsent(..) => f.write_str("RankGrads(not sent)"),
        }
    }
}

/// If ranks have slices of the average, `materialise` gathers them, so every rank has to call it.
impl<D: RankDevice, G: Group> GradSet for Ranks<D, G> {
    type Params = D::Params;
    type Grads = RankGrads<D>;
    type Found = FoundInf;

    fn train_error(&self, error: TrainError) -> Self::Error {
        RanksError::Device(self.device().train_error(error))
    }

    fn slice(&self, name: &str, elements: usize) -> Range<usize> {
        if self.is_sliced() { self.own_slice(name, elements) } else { 0..elements }
    }

    fn is_raised(&self, found: &FoundInf) -> Result<bool, Self::Error> {
        Ok(found.is_raised())
    }

    fn materialise(
        &self,
        grads: RankGrads<D>,
    ) -> Result<NamedGrads<<D as Handle>::Tensor>, Self::Error> {
        if let Sets::Slices(slices) = &grads.0 {
            let whole = self.gather_grads(Call::Materialise, slices)?;
            return self.alone(|device| upload(device, &whole));
        }
        let average = grads.into_average()?;
        self.alone(|device| device.materialise(average))
    }
}

impl<D: RankDevice, G: Group> Ranks<D, G> {
    /// Replaces gradients by their `f32` average over the ranks, and returns the joint found-inf result. It is for a loop without loss scaling, or
    /// with a different order of calls.
    ///
    /// It equals `unscale` with a scale of 1. If the result is raised, each rank still has its own gradients, in `f32`, and every rank has to skip
    /// the step. The result names rank, parameter and element.
    ///
    /// # Errors
    ///
    /// Returns a [`Desync`](crate::Desync) if ranks differ in the model or the call, and an error if the device or the group fails. `grads` is then
    /// unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use binade_core::{HostDevice, HostTensor, Named};
    /// use binade_ranks::{Group, Ranks, threads};
    /// use std::{thread, time::Duration};
    ///
    /// let running = threads(2, Duration::from_secs(10)).into_iter().map(|group| {
    ///     thread::spawn(move || {
    ///         let own = [1.0, 4.0][group.rank()];
    ///         let ranks = Ranks::new(HostDevice::new(), group);
    ///         let mut grads = vec![Named::new("weight", Some(HostTensor::from(vec![own])))];
    ///         let found = ranks.average(&mut grads).unwrap();
    ///         assert!(!found.is_raised());
    ///         grads.remove(0).value.unwrap().to_f32()[0]
    ///     })
    /// });
    /// for rank in running.collect::<Vec<_>>() {
    ///     assert_eq!(rank.join().unwrap(), 2.5);
    /// }
    /// ```
    pub fn average(
        &self,
        grads: &mut NamedGrads<D::Tensor>,
    ) -> Result<FoundInf, RanksError<D::Error>> {
        let mut set = RankGrads::from(grads.clone());
        let found = self.unscale(&mut set, &ScaleState::from_exponent(0))?;
        *grads = self.materialise(set)?;
        Ok(found)
    }
}
