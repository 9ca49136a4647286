//! Part of every batch that is trained on here: all of it, or the shards of one rank.

use crate::model::Trains;
use binade::core::NamedGrads;
use binade_cpu::Cpu;
use binade_ranks::{Group, RankGrads, Ranks};
use std::ops::Range;

/// Shards of a batch on ranks, on however many of them: so the number of ranks changes no bit.
pub(crate) const SHARDS: usize = 8;

/// Shards of every batch that one device trains on.
pub(crate) struct Part<D: Trains> {
    own: Range<usize>,
    of: usize,
    /// Makes the device's gradients of the sets of its shards.
    pub(crate) grads: fn(Vec<NamedGrads<D::Tensor>>) -> D::Grads,
}

impl<D: Trains> Part<D> {
    /// Returns the whole of every batch, as one shard.
    pub(crate) fn whole() -> Self {
        Self { own: 0..1, of: 1, grads: |sets| sets.into_iter().next().unwrap_or_default().into() }
    }

    /// Returns this device's shards of a batch.
    pub(crate) fn shards<'b, T>(
        &self,
        batch: &'b [T],
    ) -> impl Iterator<Item = &'b [T]> + use<'b, T, D> {
        let (len, of) = (batch.len(), self.of);
        self.own.clone().map(move |shard| &batch[len * shard / of..len * (shard + 1) / of])
    }

    /// Returns the number of this device's shards.
    pub(crate) fn len(&self) -> usize {
        self.own.len()
    }

    /// Returns true for the last shard of a batch, by its place among this device's.
    pub(crate) fn is_last(&self, place: usize) -> bool {
        self.own.start + place + 1 == self.of
    }

    /// Returns the factor of the loss of a shard of so many images of a batch: the average over all shards is that of the batch.
    #[expect(clippy::cast_precision_loss, reason = "a few thousand images")]
    pub(crate) fn weight(&self, shard: usize, batch: usize) -> f32 {
        (shard * self.of) as f32 / batch as f32
    }
}

impl<G: Group> Part<Ranks<Cpu, G>> {
    /// Returns the shards of this rank.
    pub(crate) fn of_rank(device: &Ranks<Cpu, G>) -> Self {
        let (rank, ranks) = (device.group().rank(), device.group().ranks());
        let own = rank * SHARDS / ranks..(rank + 1) * SHARDS / ranks;
        Self { own, of: SHARDS, grads: RankGrads::from }
    }
}
