//! Stochastic rounding instead of a master: a step's result is rounded up with the probability of its cut-off part, so updates too small for sixteen
//! bits add up on average.
//!
//! The random word of an element is [`binade_core::stochastic::bits`] of the configuration's seed, the parameter's number, the
//! steps applied to the parameter before this one (modulo 2^32) and the element's row-major index, and nothing else:
//! neither threads nor blocks show in the result. Skipped steps draw nothing.
//!
//! A parameter's number is its place in the optimizer's first set; the numbers of later parameters follow. The number is saved with the parameter's
//! state, so a loaded run continues with the same words.
//!
//! The parameter that a step starts from is widened, exactly. The first lowering, from `f32`, rounds to nearest even. A value that overflows becomes
//! infinite, as with every store.

use binade_core::{Element, cast::OnOverflow::NonFinite, stochastic};

pub use binade_core::stochastic::Key;

/// The words of neighbours, four from one call of the generator.
pub(crate) struct Words {
    key: Key,
    index: u64,
    block: [u32; 4],
}

impl Words {
    /// From the element at `index` on.
    #[inline(always)]
    pub(crate) fn from(key: Key, index: u64) -> Self {
        Self { key, index, block: key.block(index / 4) }
    }

    /// The next element's word.
    #[inline(always)]
    pub(crate) fn draw(&mut self) -> u32 {
        let lane = (self.index % 4) as usize;
        if lane == 0 {
            self.block = self.key.block(self.index / 4);
        }
        self.index += 1;
        self.block[lane]
    }
}

/// The parameter after a step that came to `value`.
#[inline(always)]
#[must_use]
pub(crate) fn round<C: Element>(value: f32, word: u32) -> C {
    let rounded = stochastic::round(value, C::DTYPE, word, NonFinite);
    C::from_f32(rounded.unwrap_or(value))
}
