//! Random numbers that hang on a seed, an epoch and an image alone: not on threads, ranks or a resumed run.

use fastrand::Rng;

/// Returns a generator for these numbers, which has no numbers in common with one for others.
pub(super) fn generator(numbers: [u64; 3]) -> Rng {
    let mixed = numbers.into_iter().fold(0, |state, number| mix(mix(state) ^ number));
    Rng::with_seed(mixed)
}

/// Mixes the bits of a word (Steele, Lea, Flood 2014, `SplitMix64`).
fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Returns the images of an epoch in random order, fixed by the seed and the epoch.
pub fn order(seed: u64, epoch: u64, images: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..images).collect();
    generator([seed, epoch, u64::MAX]).shuffle(&mut order);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_every_image_once_and_hangs_on_seed_and_epoch() {
        let first = order(3, 1, 100);
        assert_eq!(first, order(3, 1, 100));
        assert!(first != order(3, 2, 100) && first != order(4, 1, 100) && !first.is_sorted());
        let mut sorted = first;
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..100));
    }
}
