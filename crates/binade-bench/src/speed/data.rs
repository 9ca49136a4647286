//! Inputs: random values, in so many copies that no round finds its own in the cache.

use super::Result;
use binade_core::ops::Upload;
use binade_core::{DType, Named};
use binade_cuda::{Cuda, Gradients, Tensor};

/// Greatest number of sets: half the tables that the backend keeps, since outputs trade places once. More sets would have their
/// tables uploaded again each round.
const MOST_SETS: usize = 30;

/// Number of values that are drawn; longer inputs repeat them.
const DRAWN: usize = 1 << 22;

/// Returns `len` values between -1 and 1.
pub(crate) fn values(len: usize) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(len as u64);
    let drawn: Vec<f32> = (0..len.min(DRAWN)).map(|_| random.f32() * 2.0 - 1.0).collect();
    drawn.iter().copied().cycle().take(len).collect()
}

/// Returns a vector of `len` such values on the device.
pub(crate) fn noise(cuda: &Cuda, len: usize) -> Result<Tensor> {
    Ok(cuda.upload(&values(len), &[len], DType::F32)?)
}

/// Returns the number of inputs of `bytes` that take turns: together four times the L2 cache. A single larger input has driven
/// its own beginning out of the cache when it ends.
pub(crate) fn sets(bytes: usize, l2: usize) -> usize {
    (4 * l2).div_ceil(bytes.max(1)).clamp(1, MOST_SETS)
}

/// Returns `first` and copies of it, `count` tensors in all.
pub(crate) fn copies(cuda: &Cuda, first: Tensor, count: usize) -> Result<Vec<Tensor>> {
    let more = (1..count).map(|_| Ok(cuda.duplicate(&first)?)).collect::<Result<Vec<_>>>()?;
    Ok(std::iter::once(first).chain(more).collect())
}

/// Returns the length of each of `count` tensors that share `total` elements: whole cache lines, so that each begins aligned as
/// an allocation of its own.
pub(crate) fn each(total: usize, count: usize) -> usize {
    match total / count {
        one if count == 1 => one,
        one => (one / 64 * 64).max(one.min(64)),
    }
}

/// Cuts `whole` into `count` tensors of one length.
pub(crate) fn cut(whole: &Tensor, count: usize) -> Result<Vec<Tensor>> {
    let len = each(whole.len(), count);
    (0..count).map(|place| Ok(whole.slice(place * len, len)?)).collect()
}

/// Names the tensors as a set of gradients.
pub(crate) fn gradients(tensors: Vec<Tensor>) -> Gradients {
    let one = |(place, tensor)| Named::new(format!("gradient.{place}"), Some(tensor));
    tensors.into_iter().enumerate().map(one).collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_inputs_take_turns_and_large_ones_need_not() {
        let l2 = 50 << 20;
        assert_eq!([1 << 20, 16 << 20, 1 << 30].map(|bytes| sets(bytes, l2)), [30, 13, 1]);
    }

    #[test]
    fn a_total_is_cut_at_cache_lines() {
        assert_eq!([each(1 << 20, 1), each(1 << 20, 1000), each(100, 7)], [1 << 20, 1024, 14]);
    }
}
