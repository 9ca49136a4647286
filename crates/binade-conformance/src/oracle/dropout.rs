//! Dropout, by the words that a key and an index give.

use super::{cast::rounded, stochastic_cast::word};
use binade_core::{DType::F32, stochastic::Key};

/// Element `i` is +0 where its word is below `⌊p·2³²⌋`, and elsewhere multiplied by `1 / (1 − p)`, in `f32`.
///
/// The word is that of the seed, of `step` = the counter's lower half, and of `parameter` = the complement of its upper.
pub fn dropout(x: &[f64], [seed, counter]: [u64; 2], p: f64) -> Vec<f64> {
    let half = |word: u64| u32::try_from(word & 0xffff_ffff).unwrap_or_default();
    let key = Key { seed, parameter: !half(counter >> 32), step: half(counter) };
    let threshold = (p * 2.0_f64.powi(32)).floor();
    let factor = rounded(1.0 / rounded(1.0 - p, F32), F32);
    let one = |(x, index): (&f64, u64)| {
        let stays = f64::from(word(key, index)) >= threshold;
        if stays { rounded(x * factor, F32) } else { 0.0 }
    };
    x.iter().zip(0..).map(one).collect()
}
