//! Buckets of gradients of some megabytes. Gradients are packed and checked as soon as backward reports them.

use crate::{
    average::Shard,
    header::hash,
    model::{self, Entry},
};
use binade_core::{DType, FoundInf, MergeRule, Overflow, RawTensor, TensorSpec};
use half::{bf16, f16};
use std::{collections::HashMap, sync::Arc};

/// Division of a model's parameters into buckets, the same on all ranks.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Parameters in the set's order, each with the type and shape of its gradient.
    pub(crate) model: Vec<Entry>,
    /// Parameters of each bucket by position in the set, in the order of packing.
    pub(crate) buckets: Vec<Vec<usize>>,
    /// Bucket of each parameter.
    bucket_of: Vec<usize>,
    places: HashMap<Arc<str>, usize>,
    pub(crate) hash: u64,
}

impl Layout {
    /// Divides a model into buckets. A bucket has at most `bytes` bytes of gradients, or one larger gradient.
    ///
    /// The last parameter comes first, since backward reaches the last layers first. The division does not depend on the order in which gradients
    /// complete, since that may differ between ranks.
    pub(crate) fn new(model: Vec<Entry>, bytes: usize) -> Self {
        let (mut buckets, mut room) = (Vec::<Vec<usize>>::new(), 0);
        let mut bucket_of = vec![0; model.len()];
        for (place, entry) in model.iter().enumerate().rev() {
            let len = entry.spec.as_ref().and_then(TensorSpec::bytes).unwrap_or_default();
            if len > room || buckets.is_empty() {
                buckets.push(Vec::new());
                room = bytes.max(len);
            }
            room -= len;
            bucket_of[place] = buckets.len() - 1;
            if let Some(bucket) = buckets.last_mut() {
                bucket.push(place);
            }
        }
        let hash = hash(model::encode(&model).iter().chain(&(bytes as u64).to_le_bytes()));
        let places = model.iter().enumerate().map(|(place, entry)| (entry.name.clone(), place));
        Self { places: places.collect(), model, buckets, bucket_of, hash }
    }

    /// Returns the position of a parameter in the set.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// Returns the parameters of a bucket.
    pub(crate) fn entries(&self, bucket: usize) -> Vec<Entry> {
        self.buckets[bucket].iter().map(|place| self.model[*place].clone()).collect()
    }

    /// Reorders values from the order of buckets to the set's order.
    pub(crate) fn in_set_order<T>(&self, values: Vec<Option<T>>) -> Vec<Option<T>> {
        let mut ordered: Vec<Option<T>> = self.model.iter().map(|_| None).collect();
        for (place, value) in self.buckets.iter().flatten().zip(values) {
            ordered[*place] = value;
        }
        ordered
    }
}

/// Gradients of one shard that are being packed into buckets.
#[derive(Debug)]
pub(crate) struct Packing {
    layout: Arc<Layout>,
    /// Packed gradients by position, until their bucket is taken.
    packed: Shard,
    /// Number of gradients that each bucket still lacks.
    lacking: Vec<usize>,
    /// Number of buckets that were taken.
    taken: usize,
    found: Vec<FoundInf>,
}

impl Packing {
    pub(crate) fn new(layout: Arc<Layout>) -> Self {
        let count = layout.model.len();
        Self {
            packed: vec![None; count],
            lacking: layout.buckets.iter().map(Vec::len).collect(),
            taken: 0,
            found: vec![FoundInf::default(); count],
            layout,
        }
    }

    /// Packs and checks the gradient at `place`, or records that it is missing. Each gradient is reported once.
    pub(crate) fn tell(&mut self, place: usize, values: Option<&[f32]>) {
        let Entry { name, spec, .. } = &self.layout.model[place];
        let packed = values.zip(spec.as_ref());
        self.packed[place] =
            packed.and_then(|(values, spec)| packed_as(spec, values, name, &mut self.found[place]));
        self.lacking[self.layout.bucket_of[place]] -= 1;
    }

    /// Takes the next bucket, if it is complete. All ranks take the buckets in the same order.
    pub(crate) fn take(&mut self) -> Option<Shard> {
        (*self.lacking.get(self.taken)? == 0).then(|| {
            let bucket = &self.layout.buckets[self.taken];
            self.taken += 1;
            bucket.iter().map(|place| self.packed[*place].take()).collect()
        })
    }

    /// Returns the found-inf result of the shard's gradients before unscaling.
    pub(crate) fn found(&self) -> FoundInf {
        let mut joint = FoundInf::default();
        for found in &self.found {
            joint.merge(found, MergeRule::Any);
        }
        joint
    }
}

/// Returns the found-inf result of unscaling by `inverse`, computed from the result before unscaling; `None` if a gradient may become infinite by
/// unscaling.
pub(crate) fn unscaled(mut found: FoundInf, inverse: f32) -> Option<FoundInf> {
    if let Some(Overflow { scaled, unscaled, .. }) = &mut found.overflow {
        *unscaled = *scaled * inverse;
    }
    (found.magnitude * inverse).is_finite().then_some(found)
}

/// Number of elements that are checked together.
const BLOCK: usize = 1024;

/// Returns values as bytes in the type of `spec`, from which they were widened, and records those that are not finite; `None` if ranks cannot
/// exchange this type.
pub(crate) fn packed_as(
    spec: &TensorSpec,
    values: &[f32],
    name: &Arc<str>,
    found: &mut FoundInf,
) -> Option<RawTensor> {
    let bytes = match spec.dtype {
        DType::BF16 => rounded(values, name, found, |x| bf16::from_f32(x).to_le_bytes()),
        DType::F16 => rounded(values, name, found, |x| f16::from_f32(x).to_le_bytes()),
        DType::F32 => rounded(values, name, found, f32::to_le_bytes),
        _ => return None,
    };
    RawTensor::new(spec.clone(), bytes)
}

fn rounded<const N: usize>(
    values: &[f32],
    name: &Arc<str>,
    found: &mut FoundInf,
    to_bytes: impl Fn(f32) -> [u8; N],
) -> Vec<u8> {
    let mut bytes = vec![0; values.len() * N];
    let (elements, _) = bytes.as_chunks_mut::<N>();
    for (block, (values, out)) in values.chunks(BLOCK).zip(elements.chunks_mut(BLOCK)).enumerate() {
        inspect(values, block * BLOCK, name, found);
        out.iter_mut().zip(values).for_each(|(out, value)| *out = to_bytes(*value));
    }
    bytes
}

/// Checks a block, whose first element has the index `first`, and records infinities and NaNs.
fn inspect(values: &[f32], first: usize, name: &Arc<str>, found: &mut FoundInf) {
    // Without the sign, the bits are ordered by magnitude, with infinities and NaNs last.
    let largest = values.iter().fold(0, |largest, x| (x.abs().to_bits()).max(largest));
    let largest = f32::from_bits(largest);
    if largest.is_finite() {
        found.magnitude = found.magnitude.max(largest);
        return;
    }
    for (index, value) in values.iter().enumerate() {
        found.check(name, (first + index) as u64, *value, *value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(lengths: &[usize], bytes: usize) -> Layout {
        let entry = |(place, len): (usize, &usize)| Entry {
            name: format!("w{place}").into(),
            spec: Some(TensorSpec::new(DType::F16, [*len])),
            is_whole: true,
        };
        Layout::new(lengths.iter().enumerate().map(entry).collect(), bytes)
    }

    #[test]
    fn buckets_begin_with_the_last_parameter_and_keep_within_their_bytes() {
        assert_eq!(layout(&[1, 2, 3, 4], 10).buckets, [vec![3], vec![2, 1], vec![0]]);
        assert_eq!(layout(&[1, 2, 3, 4], 14).buckets, [vec![3, 2], vec![1, 0]]);
        // A gradient larger than a bucket has its own.
        assert_eq!(layout(&[1, 100, 1], 4).buckets, [vec![2], vec![1], vec![0]]);
        assert_eq!(layout(&[1, 0, 1], 0).buckets, [vec![2, 1], vec![0]]);
        assert!(layout(&[], 10).buckets.is_empty());
        assert_ne!(layout(&[1, 2], 10).hash, layout(&[1, 2], 11).hash);
        assert_ne!(layout(&[1, 2], 10).hash, layout(&[2, 1], 10).hash);
        let values = vec![Some(3), Some(2), None, Some(0)];
        let ordered = layout(&[1, 2, 3, 4], 10).in_set_order(values);
        assert_eq!(ordered, [Some(0), None, Some(2), Some(3)]);
    }

    #[test]
    fn a_bucket_is_taken_once_it_and_those_before_it_are_complete() {
        let mut packing = Packing::new(Arc::new(layout(&[1, 1, 1], 4)));
        let len = |taken: Option<Shard>| taken.map(|shard| shard.iter().flatten().count());
        packing.tell(0, Some(&[1.0]));
        assert!(packing.take().is_none());
        packing.tell(2, Some(&[1.0]));
        assert!(packing.take().is_none());
        packing.tell(1, None);
        assert_eq!((len(packing.take()), len(packing.take())), (Some(1), Some(1)));
        assert!(packing.take().is_none());
    }

    #[test]
    fn the_finding_is_that_of_a_check_of_each_element_in_the_order_of_the_set() {
        let mut random = fastrand::Rng::with_seed(1);
        for round in 0..20 {
            let lengths = [3 * BLOCK + 7, 1, BLOCK];
            let mut packing = Packing::new(Arc::new(layout(&lengths, 0)));
            let mut expected = vec![FoundInf::default(); 3];
            for place in [2, 0, 1] {
                let name = packing.layout.model[place].name.clone();
                let mut values: Vec<f32> = (0..lengths[place])
                    .map(|_| f16::from_f32(random.f32() - 0.5).to_f32())
                    .collect();
                for _ in 0..random.usize(0..3) * usize::from(round > 0) {
                    let bad = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY][random.usize(0..3)];
                    let at = random.usize(0..values.len());
                    values[at] = bad;
                }
                let own = &mut expected[place];
                (0..).zip(&values).for_each(|(index, x)| own.check(&name, index, *x, *x / 8.0));
                packing.tell(place, Some(&values));
                let raw = packing.packed[place].as_ref().unwrap();
                let back = raw.to_f32().unwrap();
                assert!(back.iter().zip(&values).all(|(a, b)| a == b || a.is_nan() && b.is_nan()));
            }
            let mut joint = FoundInf::default();
            for own in &expected {
                joint.merge(own, MergeRule::Any);
            }
            let found = unscaled(packing.found(), 0.125).unwrap();
            assert_eq!(format!("{found:?}"), format!("{joint:?}"), "round {round}");
        }
        let huge = FoundInf { magnitude: f32::MAX, ..FoundInf::default() };
        assert!(unscaled(huge.clone(), 2.0).is_none() && unscaled(huge, 1.0).is_some());
    }
}
