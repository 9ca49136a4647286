//! Stochastic rounding, by random words that depend on the key and the index alone.

use super::{Stored, Tensor};
use crate::{Cpu, Error, parallel};
use binade_core::{
    DType,
    cast::{E4M3, E5M2, OnOverflow::NonFinite},
    stochastic::{Key, round_bf16, round_e4m3, round_e5m2, round_f16},
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
    /// [`Error::Unsupported`] for integers and f64, which would round twice.
    pub fn cast_stochastic(&self, tensor: &Tensor, to: DType, key: Key) -> Result<Tensor, Error> {
        if !tensor.dtype().is_castable() {
            let (what, dtype) = ("round stochastically", tensor.dtype());
            return Err(Error::Unsupported { what, dtype });
        }
        match to {
            DType::BF16 => narrowed(tensor, bf16::ZERO, key, round_bf16),
            DType::F16 => narrowed(tensor, f16::ZERO, key, round_f16),
            DType::F32 => tensor.cast(to),
            DType::E4M3 => {
                narrowed(tensor, E4M3::from_bits(0), key, |x, word| round_e4m3(x, word, NonFinite))
            }
            DType::E5M2 => {
                narrowed(tensor, E5M2::from_bits(0), key, |x, word| round_e5m2(x, word, NonFinite))
            }
            _ => Err(Error::Unsupported { what: "round stochastically to", dtype: to }),
        }
    }
}

/// Rounds four neighbours by one call of the generator.
fn narrowed<E: Stored>(
    tensor: &Tensor,
    zero: E,
    key: Key,
    round: impl Fn(f32, u32) -> E + Sync,
) -> Result<Tensor, Error> {
    let values = tensor.to_f32();
    let mut to = vec![zero; values.len()];
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
