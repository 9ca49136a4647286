//! Stochastic rounding from shared random words, and the words themselves.
//!
//! Words are those of Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11):
//! key and counter are made of (seed, parameter, step, index) as `binade_core::stochastic` documents.

use super::cast::{Layout, layout};
use binade_core::{DType, stochastic::Key};

/// Codes of `dtype` for `values`, which are of `f32`: element by element up, away from zero, with the chance of what is cut
/// off. Overflow goes to infinity, and in E4M3, which has none, to NaN.
///
/// # Panics
///
/// For types that are not floating-point.
pub fn cast(values: impl IntoIterator<Item = f64>, dtype: DType, key: Key) -> Vec<u64> {
    let layout = layout(dtype);
    let pairs = values.into_iter().zip(0..);
    pairs.map(|(x, index)| round(x, &layout, word(key, index))).collect()
}

fn round(x: f64, layout: &Layout, word: u32) -> u64 {
    layout.round(x, |_, [low, high]| {
        // "The mean over all words is the value, exactly, while the fraction has at most 31 bits."
        let share = (x.abs() - low) / (high - low);
        let chance = (share * 2.0_f64.powi(31)).floor() * 2.0_f64.powi(-31);
        chance + f64::from(word) * 2.0_f64.powi(-32) >= 1.0
    })
}

/// The random word of one element.
#[expect(
    clippy::cast_possible_truncation,
    reason = "words are halves, and an index modulo 4 is small"
)]
pub fn word(key: Key, index: u64) -> u32 {
    let block = index / 4;
    let counter = [block as u32, (block >> 32) as u32, key.step, key.parameter];
    philox(counter, [key.seed as u32, (key.seed >> 32) as u32])[(index % 4) as usize]
}

/// The paper's section 4.3: in each of ten rounds two products, whose high halves meet the other words and the key.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the low half of a product is what is asked for"
)]
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let first = u64::from(counter[0]) * 0xd251_1f53;
        let second = u64::from(counter[2]) * 0xcd9e_8d57;
        counter = [
            (second >> 32) as u32 ^ counter[1] ^ key[0],
            second as u32,
            (first >> 32) as u32 ^ counter[3] ^ key[1],
            first as u32,
        ];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `kat_vectors` of Random123, the paper's library.
    #[test]
    fn philox_gives_the_published_answers() {
        let zero = [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8];
        assert_eq!(philox([0; 4], [0; 2]), zero);
        let ones = [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd];
        assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), ones);
        let digits_of_pi = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344];
        let expected = [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1];
        assert_eq!(philox(digits_of_pi, [0xa4093822, 0x299f31d0]), expected);
    }

    #[test]
    fn a_value_goes_up_from_the_word_that_fills_what_is_missing() {
        let layout = layout(DType::F16);
        let quarter = 1.0 + 2.0_f64.powi(-12);
        assert_eq!(round(quarter, &layout, 0xbfff_ffff), 0x3c00);
        assert_eq!(round(quarter, &layout, 0xc000_0000), 0x3c01);
        assert_eq!(round(-quarter, &layout, u32::MAX), 0xbc01);
    }

    #[test]
    fn what_the_format_holds_and_what_is_beyond_it_needs_no_luck() {
        for word in [0, u32::MAX] {
            assert_eq!(round(65504.0, &layout(DType::F16), word), 0x7bff);
            assert_eq!(round(65536.0, &layout(DType::F16), word), 0x7c00);
            assert_eq!(round(-480.0, &layout(DType::E4M3), word), 0xff);
        }
    }
}
