//! A set of gradients that knows what it still has to be multiplied by.

mod materialise;

pub(crate) use materialise::Factors;

use crate::{Cuda, Error, Tensor, memory::Buffer};
use binade_core::{DType, Named};
use std::sync::Arc;

/// Gradients by parameter, and what unscaling and clipping have left to whoever reads the values.
///
/// Unscaling only looks; the fused step multiplies, in `f32`, as it reads. [`materialise`] is for everyone else.
///
/// [`materialise`]: binade_core::GradSet::materialise
#[derive(Clone, Debug)]
pub struct Gradients {
    pub(crate) entries: Vec<Named<Option<Tensor>>>,
    /// Of a window's sums, whether each has begun: a word for each entry, since the host cannot know which micro-batches
    /// were bad.
    pub(crate) present: Option<Arc<Buffer>>,
    /// `Owed` on the device; `None` where nothing is.
    pub(crate) owed: Option<Arc<Buffer>>,
    /// Whether `owed` has the sizes of these values, unclipped, because a pass measured them.
    pub(crate) is_measured: bool,
}

impl From<Vec<Named<Option<Tensor>>>> for Gradients {
    fn from(entries: Vec<Named<Option<Tensor>>>) -> Self {
        Self { entries, present: None, owed: None, is_measured: false }
    }
}

/// A gradient that is there, or may be.
pub(crate) struct Present<'g> {
    /// Its place in the set.
    pub(crate) place: usize,
    pub(crate) name: &'g Arc<str>,
    pub(crate) tensor: &'g Tensor,
    /// The address of the word that says whether it is there, or 0.
    pub(crate) flag: u64,
}

impl Gradients {
    /// The parameters, in order, whether or not they have a gradient.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.entries.iter().map(|entry| &entry.name)
    }

    /// The gradients as backward left them, or as the last operation on the whole set did: not yet multiplied.
    pub fn as_stored(&self) -> &[Named<Option<Tensor>>] {
        &self.entries
    }

    /// Refuses a set of which another handle has made any part.
    pub(crate) fn are_of(&self, cuda: &Cuda) -> Result<(), Error> {
        let words = self.present.iter().chain(&self.owed).map(|words| &**words);
        self.present()
            .map(|grad| grad.tensor.buffer())
            .chain(words)
            .try_for_each(|it| cuda.has_made(it))
    }

    /// Those that are there, or may be.
    pub(crate) fn present(&self) -> impl Iterator<Item = Present<'_>> {
        self.entries.iter().enumerate().filter_map(|(place, entry)| {
            let flag = self.flag(place);
            Some(Present { place, name: &entry.name, tensor: entry.value.as_ref()?, flag })
        })
    }

    /// The address of the word that says whether an entry is there, or 0.
    pub(crate) fn flag(&self, place: usize) -> u64 {
        self.present.as_ref().map_or(0, |words| words.address() + 4 * place as u64)
    }

    /// All elements together.
    pub(crate) fn elements(&self) -> u64 {
        self.present().map(|grad| grad.tensor.len() as u64).sum()
    }

    /// Where `Owed` is.
    pub(crate) fn owed(&self, cuda: &Cuda) -> Result<u64, Error> {
        Ok(match &self.owed {
            Some(owed) => owed.address(),
            None => cuda.fixed()?.nothing_owed.address(),
        })
    }
}

/// The number of a gradient's type, which is one that is [`trained`] in.
pub(crate) fn supported(what: &'static str, grad: &Tensor) -> Result<u32, Error> {
    crate::autocast::code(what, trained(what, grad.dtype())?)
}

/// There is `f32` arithmetic for bf16, f16 and f32 alone.
pub(crate) fn trained(what: &'static str, dtype: DType) -> Result<DType, Error> {
    match dtype {
        DType::BF16 | DType::F16 | DType::F32 => Ok(dtype),
        dtype => Err(Error::Unsupported { what, dtype }),
    }
}
