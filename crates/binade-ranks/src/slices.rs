//! Division of tensors among ranks: each tensor has one slice for each rank.

use crate::{Group, GroupError, header::hash};
use std::ops::Range;

/// Tensor that is divided among ranks. The slice that a rank owns depends only on these fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divided<'m> {
    pub(crate) name: &'m str,
    pub(crate) elements: usize,
    /// Bytes of an element.
    pub(crate) width: usize,
}

impl Divided<'_> {
    /// Returns the elements that `rank` owns. They follow those of the previous rank. The ranks' numbers of elements differ by at most one.
    pub(crate) fn slice(&self, rank: usize, ranks: usize) -> Range<usize> {
        // The name decides which ranks own one element more, so that small tensors are spread over the ranks.
        let name = usize::try_from(hash(self.name.as_bytes()) % ranks as u64).unwrap_or_default();
        let (each, more) = (self.elements / ranks, self.elements % ranks);
        let edge = |rank: usize| each * rank + (more * rank + name) / ranks;
        edge(rank)..edge(rank + 1)
    }

    /// Returns the bytes that `rank` owns.
    pub(crate) fn bytes(&self, rank: usize, ranks: usize) -> Range<usize> {
        let Range { start, end } = self.slice(rank, ranks);
        start * self.width..end * self.width
    }
}

/// Returns the number of bytes that `rank` owns of these tensors.
pub(crate) fn bytes_of(tensors: &[Divided<'_>], rank: usize, ranks: usize) -> usize {
    tensors.iter().map(|tensor| tensor.bytes(rank, ranks).len()).sum()
}

/// Gathers the whole bytes of each tensor from all ranks' concatenated slices.
pub(crate) fn gather<G: Group>(
    group: &G,
    tensors: &[Divided<'_>],
    own: &[u8],
) -> Result<Vec<Vec<u8>>, GroupError> {
    let ranks = group.ranks();
    let lengths: Vec<usize> = (0..ranks).map(|rank| bytes_of(tensors, rank, ranks)).collect();
    let mut all = vec![0; lengths.iter().sum()];
    group.all_gather(own, &lengths, &mut all)?;
    let mut whole: Vec<Vec<u8>> =
        tensors.iter().map(|tensor| Vec::with_capacity(tensor.elements * tensor.width)).collect();
    let mut rest = &all[..];
    for rank in 0..ranks {
        for (tensor, whole) in tensors.iter().zip(&mut whole) {
            let (slice, others) = rest.split_at(tensor.bytes(rank, ranks).len());
            whole.extend(slice);
            rest = others;
        }
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_follow_each_other_and_differ_by_one_element_at_most() {
        for ranks in 1..9 {
            for elements in 0..20 {
                for name in ["weight", "bias", ""] {
                    let tensor = Divided { name, elements, width: 2 };
                    let slices: Vec<_> = (0..ranks).map(|rank| tensor.slice(rank, ranks)).collect();
                    assert_eq!(slices.iter().cloned().flatten().count(), elements);
                    assert!(slices.iter().cloned().flatten().eq(0..elements), "{slices:?}");
                    let lengths = slices.iter().map(ExactSizeIterator::len);
                    assert!(lengths.clone().max().unwrap() - lengths.min().unwrap() <= 1);
                }
            }
        }
    }

    #[test]
    fn small_tensors_lie_on_different_ranks() {
        let owner = |name: &str| {
            let tensor = Divided { name, elements: 1, width: 4 };
            (0..4).find(|rank| !tensor.slice(*rank, 4).is_empty()).unwrap()
        };
        let mut tensors = [0; 4];
        (0..100).for_each(|layer| tensors[owner(&format!("{layer}.scale"))] += 1);
        assert!(tensors.iter().all(|tensors| (10..40).contains(tensors)), "{tensors:?}");
    }
}
