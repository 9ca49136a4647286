//! Gradients of a rank.

use crate::{Group, RankDevice, Ranks, RanksError, device::Failed};
use binade_core::{FoundInf, GradSet, Handle, Named, NamedGrads, TrainError};
use std::fmt;

/// Gradients of a rank: a set for each of its shards of the batch until `unscale`, and the average over all ranks from there on. Where
/// some rank overflowed it stays this rank's own, to be looked at; no step takes it.
///
/// A rank with one shard gives its set, as a tape's `backward` returns it. One with several gives a list of sets: each shard has the
/// weight of every other, on whichever rank it is. Each rank has one shard at least.
pub struct RankGrads<D: GradSet>(pub(crate) Sets<D>);

pub(crate) enum Sets<D: GradSet> {
    /// Sets of this rank's shards.
    Shards(Vec<NamedGrads<D::Tensor>>),
    /// Average, the same on all ranks.
    Average(D::Grads),
    /// This rank's own, of its first shard, where some rank overflowed: no step takes them.
    Unsent(D::Grads),
}

impl<D: GradSet> RankGrads<D> {
    /// Returns the average, or this rank's own set where none was sent.
    pub(crate) fn average(&mut self) -> Result<&mut D::Grads, Failed<D>> {
        match &mut self.0 {
            Sets::Average(set) | Sets::Unsent(set) => Ok(set),
            Sets::Shards(_) => Err(RanksError::NotAveraged),
        }
    }

    pub(crate) fn into_average(self) -> Result<D::Grads, Failed<D>> {
        match self.0 {
            Sets::Average(set) | Sets::Unsent(set) => Ok(set),
            Sets::Shards(_) => Err(RanksError::NotAveraged),
        }
    }
}

/// Makes the set of a rank with one shard.
impl<D: GradSet> From<Vec<Named<Option<D::Tensor>>>> for RankGrads<D> {
    fn from(set: NamedGrads<D::Tensor>) -> Self {
        Self(Sets::Shards(vec![set]))
    }
}

/// Makes the sets of a rank with several shards, in the order in which they are added.
impl<D: GradSet> From<Vec<Vec<Named<Option<D::Tensor>>>>> for RankGrads<D> {
    fn from(sets: Vec<NamedGrads<D::Tensor>>) -> Self {
        Self(Sets::Shards(sets))
    }
}

impl<D: GradSet> fmt::Debug for RankGrads<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Sets::Shards(sets) => write!(f, "RankGrads({} shards)", sets.len()),
            Sets::Average(_) => f.write_str("RankGrads(average)"),
            Sets::Unsent(_) => f.write_str("RankGrads(not sent)"),
        }
    }
}

impl<D: RankDevice, G: Group> GradSet for Ranks<D, G> {
    type Params = D::Params;
    type Grads = RankGrads<D>;
    type Found = FoundInf;

    fn train_error(&self, error: TrainError) -> Self::Error {
        RanksError::Device(self.device().train_error(error))
    }

    fn is_raised(&self, found: &FoundInf) -> Result<bool, Self::Error> {
        Ok(found.is_raised())
    }

    fn materialise(
        &self,
        grads: RankGrads<D>,
    ) -> Result<NamedGrads<<D as Handle>::Tensor>, Self::Error> {
        let average = grads.into_average()?;
        self.alone(|device| device.materialise(average))
    }
}
