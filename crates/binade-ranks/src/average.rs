//! The average of all shards of all ranks: gradients travel in their own type, and are added in `f64` in one order.

use crate::{Group, GroupError, model::Entry};
use binade_core::{RawTensor, TensorSpec};
use std::ops::Range;

/// Set of gradients as bytes, in the order of the model; `None` for one that is missing, which counts as zero.
pub(crate) type Shard = Vec<Option<RawTensor>>;

/// Returns the average of every gradient that any rank has, the same bits on all ranks.
///
/// Each rank owns a slice of the model's elements, one after the other in the set's order. It is sent that slice of every shard, adds
/// the shards in the order of ranks, divides the `f64` sum by their number and rounds once to `f32`. Then all slices go to all
/// ranks. As many shards in one order give one result, on however many ranks they are.
pub(crate) fn average<G: Group>(
    group: &G,
    model: &[Entry],
    shards: &[usize],
    own: &[Shard],
) -> Result<Vec<Option<Vec<f32>>>, GroupError> {
    let slices = Slices { specs: model.iter().map(|entry| entry.spec.as_ref()).collect() };
    let (rank, ranks) = (group.rank(), group.ranks());
    let parts: Vec<_> = (0..ranks).map(|rank| slices.parts(rank, ranks)).collect();
    let bytes = |rank: usize| parts[rank].iter().map(Part::bytes).sum::<usize>();

    let mut send = Vec::new();
    for slice in &parts {
        for (shard, part) in
            own.iter().flat_map(|shard| slice.iter().map(move |part| (shard, part)))
        {
            part.append(shard, &mut send);
        }
    }
    let sends: Vec<usize> = (0..ranks).map(|to| bytes(to) * own.len()).collect();
    let receives: Vec<usize> = shards.iter().map(|shards| bytes(rank) * shards).collect();
    let mut terms = vec![0; receives.iter().sum()];
    group.exchange(&send, &sends, &mut terms, &receives)?;

    let means = means(&parts[rank], &terms, shards.iter().sum());
    let lengths =
        |parts: &Vec<Part<'_>>| 4 * parts.iter().map(|part| part.range.len()).sum::<usize>();
    let lengths: Vec<usize> = parts.iter().map(lengths).collect();
    let mut all = vec![0; lengths.iter().sum()];
    group.all_gather(&means, &lengths, &mut all)?;
    Ok(slices.whole(&all))
}

/// Returns the averages of a slice as bytes of `f32`, of terms one behind the other.
#[expect(clippy::cast_precision_loss, reason = "shards are few")]
#[expect(clippy::cast_possible_truncation, reason = "rounds to f32 on purpose")]
fn means(parts: &[Part<'_>], mut terms: &[u8], shards: usize) -> Vec<u8> {
    // The sum of nothing but negative zeros is a negative zero.
    let mut sums = vec![-0.0_f64; parts.iter().map(|part| part.range.len()).sum()];
    for _ in 0..shards {
        let mut sums = sums.iter_mut();
        for part in parts {
            let (own, rest) = terms.split_at(part.bytes());
            terms = rest;
            let spec = TensorSpec::new(part.spec.dtype, [part.range.len()]);
            let values = RawTensor::new(spec, own.to_vec()).and_then(|raw| raw.to_f32());
            // Terms come first: their end takes no sum of the next part.
            let own = values.unwrap_or_default().into_iter().zip(sums.by_ref());
            own.for_each(|(term, sum)| *sum += f64::from(term));
        }
    }
    sums.iter().flat_map(|sum| ((sum / shards as f64) as f32).to_le_bytes()).collect()
}

/// Division of a model's elements among ranks.
struct Slices<'m> {
    specs: Vec<Option<&'m TensorSpec>>,
}

/// Part of one gradient that lies in one rank's slice.
struct Part<'m> {
    place: usize,
    spec: &'m TensorSpec,
    range: Range<usize>,
}

impl<'m> Slices<'m> {
    fn lengths(&self) -> impl Iterator<Item = (usize, &'m TensorSpec, usize)> {
        let specs = self.specs.iter().enumerate();
        specs.filter_map(|(place, spec)| {
            Some((place, (*spec)?, spec.and_then(TensorSpec::elements)?))
        })
    }

    /// Returns the parts of a rank's slice, in the set's order. A rank owns none where elements are fewer than ranks.
    fn parts(&self, rank: usize, ranks: usize) -> Vec<Part<'m>> {
        let total: usize = self.lengths().map(|(.., len)| len).sum();
        let [start, end] =
            [rank, rank + 1].map(|edge| total / ranks * edge + total % ranks * edge / ranks);
        let mut first = 0;
        let mut parts = Vec::new();
        for (place, spec, len) in self.lengths() {
            let within = |edge: usize| edge.clamp(first, first + len) - first;
            let range = within(start)..within(end);
            if !range.is_empty() {
                parts.push(Part { place, spec, range });
            }
            first += len;
        }
        parts
    }

    /// Returns the gradients of a set, of all their elements one behind the other.
    fn whole(&self, all: &[u8]) -> Vec<Option<Vec<f32>>> {
        let (elements, _) = all.as_chunks::<4>();
        let mut elements = elements.iter().map(|element| f32::from_le_bytes(*element));
        let mut whole = vec![None; self.specs.len()];
        for (place, _, len) in self.lengths() {
            whole[place] = Some(elements.by_ref().take(len).collect());
        }
        whole
    }
}

impl Part<'_> {
    fn bytes(&self) -> usize {
        self.range.len() * self.spec.dtype.bytes()
    }

    /// Appends this part of a shard.
    fn append(&self, shard: &Shard, to: &mut Vec<u8>) {
        let width = self.spec.dtype.bytes();
        match shard.get(self.place).and_then(Option::as_ref) {
            Some(raw) => to.extend(&raw.bytes()[self.range.start * width..self.range.end * width]),
            None => to.resize(to.len() + self.bytes(), 0),
        }
    }
}
