//! Average of all shards of all ranks. Gradients are sent in their own type, and added in `f64` in a fixed order.

use crate::{
    Group, GroupError,
    model::Entry,
    slices::{Divided, gather},
};
use binade_core::{DType, RawTensor, TensorSpec};
use half::{bf16, f16};
use std::{mem, ops::Range};

/// Set of gradients as bytes, in the order of the model; `None` for a missing gradient, which counts as zero.
pub(crate) type Shard = Vec<Option<RawTensor>>;

/// Averages in the order of the model, whole or this rank's slices; `None` for a gradient that no rank has.
pub(crate) type Averages = Vec<Option<Vec<f32>>>;

/// Bytes of a rank's slices of all its shards in one round. They stay in the CPU cache between packing, sum and gather.
const ROUND: usize = 1 << 20;

/// Number of elements that are added together.
const BLOCK: usize = 1024;

/// Pieces of the model that are averaged by one exchange.
#[derive(Debug)]
pub(crate) struct Round {
    /// Pieces of each rank's slices, in the order of the model.
    pieces: Vec<Vec<Piece>>,
}

/// Elements of one gradient that one rank adds.
#[derive(Clone, Debug)]
struct Piece {
    place: usize,
    /// First of the elements in the rank's slice.
    start: usize,
    elements: Range<usize>,
    dtype: DType,
}

impl Round {
    /// Returns the single round that covers a whole model.
    pub(crate) fn whole(model: &[Entry], ranks: usize) -> Self {
        let mut rounds = Self::split(model, ranks, usize::MAX);
        rounds.pop().unwrap_or(Self { pieces: vec![Vec::new(); ranks] })
    }

    /// Divides a model into rounds in which each rank has at most `most` bytes, or 8 if `most` is less. Rounds are the same on all ranks.
    fn split(model: &[Entry], ranks: usize, most: usize) -> Vec<Self> {
        // An element of any type fits.
        let (mut rounds, most) = (Vec::<Self>::new(), most.max(size_of::<f64>()));
        for rank in 0..ranks {
            let (mut round, mut room) = (0, most);
            for (place, entry) in model.iter().enumerate() {
                let Some(spec) = &entry.spec else { continue };
                let elements = spec.elements().unwrap_or_default();
                let width = spec.dtype.bytes();
                let slice = Divided { name: &entry.name, elements, width }.slice(rank, ranks);
                let mut rest = slice.clone();
                while !rest.is_empty() {
                    if room < width {
                        (round, room) = (round + 1, most);
                    }
                    let len = rest.len().min(room / width);
                    room -= len * width;
                    if rounds.len() <= round {
                        rounds.push(Self { pieces: vec![Vec::new(); ranks] });
                    }
                    let elements = rest.start..rest.start + len;
                    let start = elements.start - slice.start;
                    rest.start = elements.end;
                    let piece = Piece { place, start, elements, dtype: spec.dtype };
                    rounds[round].pieces[rank].push(piece);
                }
            }
        }
        rounds
    }

    /// Returns the number of bytes of each rank's pieces, of elements of this width.
    fn bytes(&self, width: impl Fn(&Piece) -> usize) -> Vec<usize> {
        let bytes = |piece: &Piece| piece.elements.len() * width(piece);
        self.pieces.iter().map(|pieces| pieces.iter().map(bytes).sum()).collect()
    }
}

impl Piece {
    fn width(&self) -> usize {
        self.dtype.bytes()
    }
}

/// Buffers of exchanges, reused because allocation takes longer than the work in them.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    /// Terms for the other ranks.
    send: Vec<u8>,
    /// This rank's slices of every shard, in the order of ranks.
    pub(crate) terms: Vec<u8>,
    /// Averages of this rank's slices.
    own: Vec<u8>,
    /// Averages of every rank's slices.
    all: Vec<u8>,
}

impl Buffers {
    /// Returns the averages of all ranks' shards, whole or this rank's slices.
    ///
    /// A rank receives its slice of every shard, adds the shards in the order of ranks, divides the `f64` sum by their number and rounds once to
    /// `f32`. The result depends on the shards and their order, but not on the number of ranks.
    pub(crate) fn averages<G: Group>(
        &mut self,
        group: &G,
        model: &[Entry],
        (shards, own): (&[usize], &[Shard]),
        is_sliced: bool,
    ) -> Result<Averages, GroupError> {
        let most_shards = shards.iter().copied().max().unwrap_or(1).max(1);
        self.averages_by(ROUND / most_shards, group, model, (shards, own), is_sliced)
    }

    /// Returns averages, computed in rounds of at most this many bytes.
    fn averages_by<G: Group>(
        &mut self,
        most: usize,
        group: &G,
        model: &[Entry],
        (shards, own): (&[usize], &[Shard]),
        is_sliced: bool,
    ) -> Result<Averages, GroupError> {
        let mut averages = empty(group, model, is_sliced);
        for round in Round::split(model, group.ranks(), most) {
            self.exchange(group, &round, shards, own)?;
            let terms = mem::take(&mut self.terms);
            self.mean(group, &round, (&terms, shards.iter().sum()), is_sliced, &mut averages)?;
            self.terms = terms;
        }
        Ok(averages)
    }

    /// Sends every rank its pieces of this rank's shards, and receives this rank's pieces of every shard as `terms`.
    pub(crate) fn exchange<G: Group>(
        &mut self,
        group: &G,
        round: &Round,
        shards: &[usize],
        own: &[Shard],
    ) -> Result<(), GroupError> {
        let Self { send, terms, .. } = self;
        send.clear();
        for pieces in &round.pieces {
            for shard in own {
                for Piece { place, elements: Range { start, end }, dtype, .. } in pieces {
                    let bytes = start * dtype.bytes()..end * dtype.bytes();
                    match shard.get(*place).and_then(Option::as_ref) {
                        Some(raw) => send.extend_from_slice(&raw.bytes()[bytes]),
                        None => send.resize(send.len() + bytes.len(), 0),
                    }
                }
            }
        }
        let bytes = round.bytes(Piece::width);
        let sends: Vec<usize> = bytes.iter().map(|bytes| bytes * own.len()).collect();
        let receives: Vec<usize> =
            shards.iter().map(|shards| bytes[group.rank()] * shards).collect();
        terms.resize(receives.iter().sum(), 0);
        group.exchange(send, &sends, terms, &receives)
    }

    /// Writes the averages of a round, from the shards' terms in the order of ranks.
    pub(crate) fn mean<G: Group>(
        &mut self,
        group: &G,
        round: &Round,
        (terms, shards): (&[u8], usize),
        is_sliced: bool,
        averages: &mut Averages,
    ) -> Result<(), GroupError> {
        let Self { own, all, .. } = self;
        let pieces = &round.pieces[group.rank()];
        means(pieces, terms, shards, own);
        if is_sliced {
            enter(pieces, |piece| piece.start, own, averages);
            return Ok(());
        }
        let lengths = round.bytes(|_| size_of::<f32>());
        all.resize(lengths.iter().sum(), 0);
        group.all_gather(own, &lengths, all)?;
        enter(round.pieces.iter().flatten(), |piece| piece.elements.start, all, averages);
        Ok(())
    }
}

/// Gathers whole averages from the ranks' slices.
pub(crate) fn whole<G: Group>(
    group: &G,
    model: &[Entry],
    slices: &[Option<Vec<f32>>],
) -> Result<Vec<Option<Vec<f32>>>, GroupError> {
    let mut own = vec![0; 4 * slices.iter().flatten().map(Vec::len).sum::<usize>()];
    let (elements, _) = own.as_chunks_mut::<4>();
    let values = slices.iter().flatten().flatten();
    elements.iter_mut().zip(values).for_each(|(bytes, value)| *bytes = value.to_le_bytes());
    let mut tensors = gather(group, &divided(model, |_| 4), &own)?.into_iter();
    let values = |bytes: Vec<u8>| {
        let (elements, _) = bytes.as_chunks::<4>();
        elements.iter().map(|element| f32::from_le_bytes(*element)).collect()
    };
    let whole = |entry: &Entry| entry.spec.as_ref().and_then(|_| tensors.next()).map(values);
    Ok(model.iter().map(whole).collect())
}

/// Returns the division of gradients that any rank has, of elements of this many bytes.
pub(crate) fn divided(model: &[Entry], width: impl Fn(&TensorSpec) -> usize) -> Vec<Divided<'_>> {
    let tensor = |entry| {
        let Entry { name, spec, .. }: &Entry = entry;
        let spec = spec.as_ref()?;
        Some(Divided { name, elements: spec.elements()?, width: width(spec) })
    };
    model.iter().filter_map(tensor).collect()
}

/// Returns zero-filled averages, whole or this rank's slices.
pub(crate) fn empty<G: Group>(group: &G, model: &[Entry], is_sliced: bool) -> Averages {
    let zeros = |entry: &Entry| {
        let elements = entry.spec.as_ref()?.elements()?;
        let whole = Divided { name: &entry.name, elements, width: size_of::<f32>() };
        let slice = whole.slice(group.rank(), group.ranks());
        Some(vec![0.0; if is_sliced { slice.len() } else { elements }])
    };
    model.iter().map(zeros).collect()
}

/// Writes values into averages, each piece at its start.
fn enter<'p>(
    pieces: impl IntoIterator<Item = &'p Piece>,
    first: impl Fn(&Piece) -> usize,
    mut bytes: &[u8],
    averages: &mut Averages,
) {
    for piece in pieces {
        let (own, rest) = bytes.split_at(piece.elements.len() * size_of::<f32>());
        bytes = rest;
        if let Some(average) = &mut averages[piece.place] {
            let values = average[first(piece)..].iter_mut();
            let (own, _) = own.as_chunks::<4>();
            values.zip(own).for_each(|(value, bytes)| *value = f32::from_le_bytes(*bytes));
        }
    }
}

/// Fills `into` with the averages of pieces. The shards' terms are concatenated.
#[expect(clippy::cast_precision_loss, reason = "shards are few")]
#[expect(clippy::cast_possible_truncation, reason = "rounds to f32 on purpose")]
fn means(pieces: &[Piece], terms: &[u8], shards: usize, into: &mut Vec<u8>) {
    let elements: usize = pieces.iter().map(|piece| piece.elements.len()).sum();
    let stride: usize = pieces.iter().map(|piece| piece.elements.len() * piece.width()).sum();
    into.resize(elements * size_of::<f32>(), 0);
    let (mut into, _) = into.as_chunks_mut::<4>();
    let mut first = 0;
    for piece in pieces {
        for block in (0..piece.elements.len()).step_by(BLOCK) {
            let len = BLOCK.min(piece.elements.len() - block);
            let mut sums = [0.0_f64; BLOCK];
            for shard in 0..shards {
                let terms = &terms[shard * stride + first..][..len * piece.width()];
                let sums = (&mut sums[..], shard == 0);
                match piece.dtype {
                    DType::BF16 => add(terms, sums, |it| bf16::from_le_bytes(it).to_f32()),
                    DType::F16 => add(terms, sums, |it| f16::from_le_bytes(it).to_f32()),
                    // Ranks exchange no other type.
                    _ => add(terms, sums, f32::from_le_bytes),
                }
            }
            first += len * piece.width();
            let (block, rest) = into.split_at_mut(len);
            into = rest;
            let (count, means) = (shards as f64, block.iter_mut().zip(&sums));
            if shards.is_power_of_two() {
                // The inverse is exact, and a product is faster than a quotient.
                let inverse = count.recip();
                means.for_each(|(mean, sum)| *mean = ((sum * inverse) as f32).to_le_bytes());
            } else {
                means.for_each(|(mean, sum)| *mean = ((sum / count) as f32).to_le_bytes());
            }
        }
    }
}

/// Adds terms to sums. The first terms are copied, so that a sum of negative zeros is a negative zero.
fn add<const N: usize>(
    terms: &[u8],
    (sums, is_first): (&mut [f64], bool),
    widened: impl Fn([u8; N]) -> f32,
) {
    let (terms, _) = terms.as_chunks::<N>();
    let terms = sums.iter_mut().zip(terms);
    if is_first {
        terms.for_each(|(sum, term)| *sum = widened(*term).into());
    } else {
        terms.for_each(|(sum, term)| *sum += f64::from(widened(*term)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;
    use std::{thread, time::Duration};

    fn model() -> Vec<Entry> {
        let entry = |(place, (dtype, len)): (usize, (DType, usize))| Entry {
            name: format!("w{place}").into(),
            spec: (len > 0).then(|| TensorSpec::new(dtype, [len])),
            is_whole: true,
        };
        let forms = [(DType::F32, 5), (DType::BF16, 7), (DType::F32, 0), (DType::F16, 1)];
        forms.into_iter().chain([(DType::F32, 40)]).enumerate().map(entry).collect()
    }

    fn shard(model: &[Entry], random: &mut fastrand::Rng) -> Shard {
        let mut raw = |entry: &Entry| {
            let spec = entry.spec.clone()?;
            let values: Vec<f32> = (0..spec.elements()?).map(|_| random.f32() - 0.5).collect();
            RawTensor::from_f32(spec, &values)
        };
        model.iter().map(&mut raw).collect()
    }

    #[test]
    fn rounds_have_every_element_once_and_no_more_bytes_than_asked_for() {
        for (ranks, most) in [(1, 1), (2, 8), (3, 7), (3, 64), (4, usize::MAX)] {
            let rounds = Round::split(&model(), ranks, most);
            let mut found = vec![vec![0; 40]; 5];
            for round in &rounds {
                assert!(round.bytes(Piece::width).into_iter().all(|bytes| bytes <= most.max(8)));
                for piece in round.pieces.iter().flatten() {
                    piece.elements.clone().for_each(|at| found[piece.place][at] += 1);
                }
            }
            let counts = found.iter().map(|found| found.iter().filter(|it| **it == 1).count());
            assert_eq!(counts.collect::<Vec<_>>(), [5, 7, 0, 1, 40]);
            assert!(found.iter().flatten().all(|it| *it <= 1));
        }
    }

    #[test]
    fn averages_of_rounds_have_the_bits_of_one_exchange_and_take_no_new_memory() {
        let ranks = threads(3, Duration::from_mins(1)).into_iter().map(|group| {
            thread::spawn(move || {
                let (model, mut buffers) = (model(), Buffers::default());
                let mut random = fastrand::Rng::with_seed(group.rank() as u64);
                let own: Vec<Shard> =
                    (0..=group.rank()).map(|_| shard(&model, &mut random)).collect();
                let mut places = Vec::new();
                for is_sliced in [false, true] {
                    let mut averages = |most| {
                        let shards = (&[1, 2, 3][..], &own[..]);
                        let averages = buffers.averages_by(most, &group, &model, shards, is_sliced);
                        let Buffers { send, terms, own, all } = &buffers;
                        places.push([send, terms, own, all].map(|it| it.as_ptr().addr()));
                        averages.unwrap()
                    };
                    let whole = averages(usize::MAX);
                    assert!(whole[0].as_ref().is_some_and(|it| it.iter().any(|it| *it != 0.0)));
                    assert_eq!([8, 24].map(&mut averages), [whole.clone(), whole]);
                    let Buffers { send, terms, own, all } = &buffers;
                    assert!([send, terms, own, all].iter().all(|it| it.capacity() > 0));
                }
                assert!(places.iter().all(|it| *it == places[0]), "{places:?}");
            })
        });
        ranks.collect::<Vec<_>>().into_iter().for_each(|rank| rank.join().unwrap());
    }
}
