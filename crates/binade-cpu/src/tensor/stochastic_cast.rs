//! Stochastic rounding, by random words that depend only on the key and the index.

use super::{Stored, Tensor};
use crate::{Cpu, Error, parallel};
use binade_core::{
    DType, Element as _,
    cast::{E4M3, E5M2, OnOverflow::NonFinite},
    stochastic::{self, Key},
};
use half::{bf16, f16};

impl Cpu {
    /// Returns a copy with another element type, each element rounded up or down by its word of `key`, by its row-major index
    /// ([`binade_core::stochastic`]). Values that the type holds stay; overflow is infinite, or NaN in E4M3. The bits are the
    /// same on any number of threads.
    ///
    /// A cast to f32 is an ordinary one: nothing is cut off.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for integers, and for f64, which would round twice.
    pub fn cast_stochastic(&self, tensor: &Tensor, to: DType, key: Key) -> Result<Tensor, Error> {
        if !tensor.dtype().is_castable() {
            let (what, dtype) = ("round stochastically", tensor.dtype());
            return Err(Error::Unsupported { what, dtype });
        }
        match to {
            DType::BF16 => {
                narrowed(tensor, key, |x, word| bf16::from_code(code(x, DType::BF16, word)))
            }
            DType::F16 => {
                narrowed(tensor, key, |x, word| f16::from_code(code(x, DType::F16, word)))
            }
            DType::F32 => tensor.cast(to),
            DType::E4M3 => {
                narrowed(tensor, key, |x, word| E4M3::from_bits(byte(code(x, DType::E4M3, word))))
            }
            DType::E5M2 => {
                narrowed(tensor, key, |x, word| E5M2::from_bits(byte(code(x, DType::E5M2, word))))
            }
            _ => Err(Error::Unsupported { what: "round stochastically to", dtype: to }),
        }
    }
}

/// Returns a code of the type, or 0 for a type without stochastic rounding.
#[inline(always)]
fn code(value: f32, to: DType, word: u32) -> u32 {
    stochastic::code(value, to, word, NonFinite).unwrap_or_default()
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "an 8-bit format's codes are below 256")]
fn byte(code: u32) -> u8 {
    code as u8
}

/// Rounds four neighbours by one call of the generator.
fn narrowed<E: Stored + Default>(
    tensor: &Tensor,
    key: Key,
    round: impl Fn(f32, u32) -> E + Sync,
) -> Result<Tensor, Error> {
    let values = tensor.to_f32();
    let mut to = vec![E::default(); values.len()];
    parallel::blocks(&mut to, |first, block| {
        let from = values[first..first + block.len()].chunks(4);
        // Blocks begin at multiples of four.
        for ((to, from), number) in block.chunks_mut(4).zip(from).zip(first as u64 / 4..) {
            let words = key.block(number);
            for ((to, x), word) in to.iter_mut().zip(from).zip(words) {
                *to = round(*x, word);
            }
        }
    });
    Tensor::new(to, tensor.shape())
}
