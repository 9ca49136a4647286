//! Dropout: zeroes elements at random and scales the rest.

use super::operands;
use crate::{Cpu, Error, Tensor, parallel};
use binade_core::ops::{Dropout, OpInvocation};
use binade_core::{
    Op, TensorSpec,
    stochastic::{Key, threshold},
};

impl Dropout for Cpu {
    fn dropout(&self, input: &Tensor, key: &Tensor, p: f32) -> Result<Tensor, Error> {
        let call = OpInvocation::Dropout { p };
        let TensorSpec { dtype, shape } = operands::check(&call, &[input, key])?;
        let mask = Mask::new(operands::key(Op::DROPOUT, key)?, p);
        let mut out = input.to_f32().into_owned();
        parallel::rows(&mut out, WORDS, COST, |first, block| {
            for (i, elements) in (first as u64..).zip(block.chunks_mut(WORDS)) {
                mask.apply(i, elements);
            }
        });
        Tensor::from_f32(out, &shape, dtype)
    }

    fn dropout_backward(&self, grad: &Tensor, key: &Tensor, p: f32) -> Result<Tensor, Error> {
        self.dropout(grad, key, p)
    }
}

/// Number of random words that one call of the generator gives, and below it the call's cost.
const WORDS: usize = 4;
const COST: usize = 16;

/// Dropout mask: the elements that stay, and their factor.
struct Mask {
    key: Key,
    /// Threshold `⌊p·2³²⌋`: words below it drop.
    threshold: u64,
    /// Factor `1 / (1 − p)` of the elements that stay.
    factor: f32,
}

impl Mask {
    #[expect(clippy::cast_possible_truncation, reason = "halves are what is wanted")]
    fn new([seed, counter]: [u64; 2], p: f32) -> Self {
        let (step, parameter) = (counter as u32, !((counter >> 32) as u32));
        Self {
            key: Key { seed, parameter, step },
            threshold: threshold(p),
            factor: 1.0 / (1.0 - p),
        }
    }

    /// Masks up to four neighbours, `block` being a quarter of the first one's index.
    fn apply(&self, block: u64, elements: &mut [f32]) {
        for (x, word) in elements.iter_mut().zip(self.key.block(block)) {
            *x = if u64::from(word) < self.threshold { 0.0 } else { *x * self.factor };
        }
    }
}
