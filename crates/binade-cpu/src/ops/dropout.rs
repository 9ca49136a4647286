//! Zeroes elements at random and scales the rest.

use super::operands;
use crate::{Cpu, Error, Tensor, parallel};
use binade_core::Op;
use binade_ops::{Dropout, shape};

impl Dropout for Cpu {
    fn dropout(&self, input: &Tensor, key: &Tensor, p: f32) -> Result<Tensor, Error> {
        let shape = shape::dropout(input.shape(), key.shape(), p)?;
        let dtype = operands::float(Op::DROPOUT, &[input])?;
        let mask = Mask::new(operands::key(Op::DROPOUT, key)?, p);
        let mut out = input.to_f32()?.into_owned();
        parallel::blocks(&mut out, |first, block| {
            for (i, x) in (first as u64..).zip(block) {
                *x = if mask.keeps(i) { *x * mask.factor } else { 0.0 };
            }
        });
        Tensor::from_f32(out, &shape, dtype)
    }

    fn dropout_backward(&self, grad: &Tensor, key: &Tensor, p: f32) -> Result<Tensor, Error> {
        self.dropout(grad, key, p)
    }
}

/// Which elements stay, and what they are multiplied by.
struct Mask {
    key: [u64; 2],
    /// `⌊p·2³²⌋`: bits below it drop.
    threshold: u64,
    /// `1 / (1 − p)`.
    factor: f32,
}

impl Mask {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "p is in 0..=1, so that the product is in 0..=2^32 and its fraction is to go"
    )]
    fn new(key: [u64; 2], p: f32) -> Self {
        Self { key, threshold: (f64::from(p) * 4294967296.0) as u64, factor: 1.0 / (1.0 - p) }
    }

    fn keeps(&self, index: u64) -> bool {
        u64::from(bits(self.key, index)) >= self.threshold
    }
}

/// 32 random bits, a pure function of key (seed, counter) and index: splitmix64's finaliser, three times over.
fn bits([seed, counter]: [u64; 2], index: u64) -> u32 {
    let state = mix(mix(mix(seed) ^ counter) ^ index);
    (state >> 32) as u32
}

/// The finaliser of splitmix64 (Steele, Lea, Flood 2014) with its increment.
fn mix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
