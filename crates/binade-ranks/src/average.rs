//! The average of all shards of all ranks: gradients travel in their own type, and are added in `f64` in one order.

use crate::{
    Group, GroupError,
    model::Entry,
    slices::{Divided, bytes_of, gather},
};
use binade_core::{DType, RawTensor, TensorSpec};
use half::{bf16, f16};

/// Set of gradients as bytes, in the order of the model; `None` for one that is missing, which counts as zero.
pub(crate) type Shard = Vec<Option<RawTensor>>;

/// Returns the average of this rank's slice of every gradient that any rank has.
///
/// The rank is sent its slice of every shard, adds the shards in the order of ranks, divides the `f64` sum by their number and
/// rounds once to `f32`. As many shards in one order give one result, on however many ranks they are.
pub(crate) fn own_slices<G: Group>(
    group: &G,
    model: &[Entry],
    shards: &[usize],
    own: &[Shard],
) -> Result<Vec<Option<Vec<f32>>>, GroupError> {
    let terms = terms(group, model, shards, own)?;
    Ok(mean_slices((group.rank(), group.ranks()), model, &terms, shards.iter().sum()))
}

/// Sends every rank its slice of this rank's shards, and returns this rank's slice of every shard, in the order of ranks.
pub(crate) fn terms<G: Group>(
    group: &G,
    model: &[Entry],
    shards: &[usize],
    own: &[Shard],
) -> Result<Vec<u8>, GroupError> {
    let (rank, ranks) = (group.rank(), group.ranks());
    let tensors = divided(model, |spec| spec.dtype.bytes());
    let places = (0..model.len()).filter(|place| model[*place].spec.is_some());
    let places: Vec<usize> = places.collect();

    let mut send = Vec::new();
    for to in 0..ranks {
        for shard in own {
            for (tensor, place) in tensors.iter().zip(&places) {
                let bytes = tensor.bytes(to, ranks);
                match shard.get(*place).and_then(Option::as_ref) {
                    Some(raw) => send.extend(&raw.bytes()[bytes]),
                    None => send.resize(send.len() + bytes.len(), 0),
                }
            }
        }
    }
    let sends: Vec<usize> =
        (0..ranks).map(|to| bytes_of(&tensors, to, ranks) * own.len()).collect();
    let bytes = bytes_of(&tensors, rank, ranks);
    let receives: Vec<usize> = shards.iter().map(|shards| bytes * shards).collect();
    let mut terms = vec![0; receives.iter().sum()];
    group.exchange(&send, &sends, &mut terms, &receives)?;
    Ok(terms)
}

/// Returns the average of a rank's slice of every gradient, of as many shards' slices as [`terms`] returns them.
pub(crate) fn mean_slices(
    (rank, ranks): (usize, usize),
    model: &[Entry],
    terms: &[u8],
    shards: usize,
) -> Vec<Option<Vec<f32>>> {
    let specs = model.iter().filter_map(|entry| entry.spec.as_ref());
    let tensors = divided(model, |spec| spec.dtype.bytes());
    let slice = |(spec, tensor): (&TensorSpec, &Divided<'_>)| {
        TensorSpec::new(spec.dtype, [tensor.slice(rank, ranks).len()])
    };
    let slices: Vec<_> = specs.zip(&tensors).map(slice).collect();
    let mut means = means(&slices, terms, shards).into_iter();
    model.iter().map(|entry| entry.spec.as_ref().and_then(|_| means.next())).collect()
}

/// Returns whole averages, of each rank's own slices of them.
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

/// Returns the averages of slices, of terms one behind the other.
#[expect(clippy::cast_precision_loss, reason = "shards are few")]
#[expect(clippy::cast_possible_truncation, reason = "rounds to f32 on purpose")]
fn means(slices: &[TensorSpec], mut terms: &[u8], shards: usize) -> Vec<Vec<f32>> {
    let elements = |spec: &TensorSpec| spec.elements().unwrap_or_default();
    // The sum of nothing but negative zeros is a negative zero.
    let mut sums: Vec<_> = slices.iter().map(|spec| vec![-0.0_f64; elements(spec)]).collect();
    for _ in 0..shards {
        for (spec, sums) in slices.iter().zip(&mut sums) {
            let (own, rest) = terms.split_at(elements(spec) * spec.dtype.bytes());
            terms = rest;
            match spec.dtype {
                DType::BF16 => add(own, sums, |bytes| bf16::from_le_bytes(bytes).to_f32()),
                DType::F16 => add(own, sums, |bytes| f16::from_le_bytes(bytes).to_f32()),
                // No other type travels.
                _ => add(own, sums, f32::from_le_bytes),
            }
        }
    }
    let mean = |sum: f64| (sum / shards as f64) as f32;
    sums.into_iter().map(|sums| sums.into_iter().map(mean).collect()).collect()
}

/// Adds terms to sums.
fn add<const N: usize>(terms: &[u8], sums: &mut [f64], widened: impl Fn([u8; N]) -> f32) {
    let (terms, _) = terms.as_chunks::<N>();
    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += f64::from(widened(*term)));
}
