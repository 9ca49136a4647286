//! Part of every batch that is trained on here: all of it, or the shards of one rank.

use super::Trains;
use binade::core::ops::{BatchNormConfig, RunningStats};
use binade::core::{GradSet, Handle, Named, NamedGrads};
use binade_cpu::Cpu;
use binade_ranks::{Group, Ranks};
use binade_tape::{TapeError, Var};
use std::ops::Range;

/// Normalisation by a batch: of an input, by a gain and an offset. Also returns the running statistics, moved by the batch.
pub type Norm<D> =
    fn(
        &Var<D>,
        &Var<D>,
        &Var<D>,
        &RunningStats<<D as Handle>::Tensor>,
        BatchNormConfig,
    )
        -> Result<(Var<D>, RunningStats<<D as Handle>::Tensor>), TapeError<<D as Handle>::Error>>;

/// Change of each gradient of a shard, by the shard's place among this device's.
pub type Change<'c, D> =
    dyn FnMut(usize, Gradient<D>) -> Result<Gradient<D>, <D as Handle>::Error> + 'c;

type Gradient<D> = Named<Option<<D as Handle>::Tensor>>;

/// Backward on the losses of shards, given the parameters.
pub type Backward<D> = fn(
    &D,
    &Vec<Named<<D as Handle>::Tensor>>,
    &[Var<D>],
    &mut Change<'_, D>,
) -> Result<<D as GradSet>::Grads, TapeError<<D as Handle>::Error>>;

/// Shards of every batch that one device trains on.
#[derive(Debug)]
pub struct Part<D: Trains> {
    own: Range<usize>,
    of: usize,
    /// Returns the device's gradients of the losses of its shards.
    pub backward: Backward<D>,
    /// Normalises by a batch in training.
    pub norm: Norm<D>,
}

impl<D: Trains> Part<D> {
    /// Returns the whole of every batch, as one shard.
    pub fn whole() -> Self {
        let backward: Backward<D> = |_, _, losses, change| {
            let set: Option<NamedGrads<_>> = losses.first().map(Var::backward).transpose()?;
            let set = set.into_iter().flatten().map(|gradient| change(0, gradient));
            Ok(set.collect::<Result<NamedGrads<_>, _>>()?.into())
        };
        Self { own: 0..1, of: 1, backward, norm: Var::batch_norm }
    }

    /// Returns one of several equal parts of every batch, as one shard, by its number and their count.
    pub fn one_of([own, of]: [usize; 2]) -> Self {
        Self { own: own..own + 1, of, ..Self::whole() }
    }

    /// Returns this device's shards of a batch.
    pub fn shards<'b, T>(&self, batch: &'b [T]) -> impl Iterator<Item = &'b [T]> + use<'b, T, D> {
        let (len, of) = (batch.len(), self.of);
        self.own.clone().map(move |shard| &batch[len * shard / of..len * (shard + 1) / of])
    }

    /// Returns the number of this device's shards.
    pub fn count(&self) -> usize {
        self.own.len()
    }

    /// Returns true for the first shard of a batch, by its place among this device's.
    pub fn is_first(&self, place: usize) -> bool {
        self.own.start + place == 0
    }

    /// Returns true for the last shard of a batch, by its place among this device's.
    pub fn is_last(&self, place: usize) -> bool {
        self.own.start + place + 1 == self.of
    }

    /// Returns the factor of the loss of a shard of so many images of a batch: the average over all shards is that of the batch.
    #[expect(clippy::cast_precision_loss, reason = "a few thousand images")]
    pub fn weight(&self, shard: usize, batch: usize) -> f32 {
        (shard * self.of) as f32 / batch as f32
    }
}

impl<G: Group> Part<Ranks<Cpu, G>> {
    /// Returns this rank's shards of a batch of `of`, a multiple of the number of ranks, each normalised by `norm`.
    pub fn of_rank(device: &Ranks<Cpu, G>, of: usize, norm: Norm<Ranks<Cpu, G>>) -> Self {
        let (rank, ranks) = (device.group().rank(), device.group().ranks());
        let own = rank * of / ranks..(rank + 1) * of / ranks;
        let backward: Backward<Ranks<Cpu, G>> = |device, params, losses, change| {
            let mut places = 0..;
            device.backward(params, losses, |loss, tell| {
                let place = places.next().unwrap_or_default();
                loss.backward_each(|gradient| Ok(tell(change(place, gradient)?)?))
            })
        };
        Self { own, of, backward, norm }
    }
}
