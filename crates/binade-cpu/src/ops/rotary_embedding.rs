//! Rotary position embedding.

use super::operands::check;
use crate::{Cpu, Error, Tensor, parallel};
use binade_core::TensorSpec;
use binade_core::ops::{OpInvocation, RotaryEmbedding};

impl RotaryEmbedding for Cpu {
    fn rotary_embedding(
        &self,
        input: &Tensor,
        cos: &Tensor,
        sin: &Tensor,
    ) -> Result<Tensor, Error> {
        rotated(&OpInvocation::RotaryEmbedding, [input, cos, sin], 1.0)
    }

    fn rotary_embedding_backward(
        &self,
        grad: &Tensor,
        cos: &Tensor,
        sin: &Tensor,
    ) -> Result<Tensor, Error> {
        rotated(&OpInvocation::RotaryEmbeddingBackward, [grad, cos, sin], -1.0)
    }
}

/// Cost of a pair.
const COST: usize = 6;

/// Rotates each pair of elements, with sines multiplied by `direction`.
fn rotated(
    call: &OpInvocation,
    [input, cos, sin]: [&Tensor; 3],
    direction: f32,
) -> Result<Tensor, Error> {
    let TensorSpec { dtype, shape } = check(call, &[input, cos, sin])?;
    let (rows, half) = (cos.shape()[0], cos.shape()[1]);
    let (mut out, cos, sin) = (input.to_f32().into_owned(), cos.to_f32(), sin.to_f32());
    parallel::rows(&mut out, (2 * half).max(1), COST * half, |first, lines| {
        for (number, line) in lines.chunks_exact_mut(2 * half).enumerate() {
            let at = (first + number) % rows * half;
            let (x, y) = line.split_at_mut(half);
            let angles = cos[at..at + half].iter().zip(&sin[at..at + half]);
            for ((x, y), (cos, sin)) in x.iter_mut().zip(y).zip(angles) {
                let sin = direction * sin;
                (*x, *y) = (*x * cos - *y * sin, *y * cos + *x * sin);
            }
        }
    });
    Tensor::from_f32(out, &shape, dtype)
}
