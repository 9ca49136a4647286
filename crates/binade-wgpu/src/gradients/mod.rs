//! A set of gradients that knows what it still has to be multiplied by.

mod materialise;

pub(crate) use materialise::{Factors, MATERIALISE};

use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        Bound,
        structs::{code, count},
    },
    memory::Buffer,
};
use binade_core::Named;
use std::sync::Arc;

/// Gradients by parameter, and what unscaling and clipping have left to whoever reads the values.
///
/// Unscaling only looks; [`materialise`] multiplies, in `f32`.
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
    pub(crate) fn are_of(&self, wgpu: &Wgpu) -> Result<(), Error> {
        let words = self.present.iter().chain(&self.owed).map(|words| &**words);
        self.present()
            .map(|grad| grad.tensor.buffer())
            .chain(words)
            .try_for_each(|it| wgpu.has_made(it))
    }

    /// Those that are there, or may be.
    pub(crate) fn present(&self) -> impl Iterator<Item = Present<'_>> {
        self.entries.iter().enumerate().filter_map(|(place, entry)| {
            Some(Present { place, name: &entry.name, tensor: entry.value.as_ref()? })
        })
    }

    /// The words that say which entries are there.
    pub(crate) fn flags(&self, wgpu: &Wgpu) -> Result<Bound, Error> {
        Ok(Bound::whole(self.present.as_ref().unwrap_or(&wgpu.fixed()?.there)))
    }

    /// Which of these words is an entry's.
    pub(crate) fn flag(&self, place: usize) -> u32 {
        if self.present.is_some() { count(place) } else { 0 }
    }

    /// What they are owed.
    pub(crate) fn owed(&self, wgpu: &Wgpu) -> Result<Bound, Error> {
        Ok(Bound::whole(self.owed.as_ref().unwrap_or(&wgpu.fixed()?.nothing_owed)))
    }
}

/// The number of a gradient's type, which is one that there is `f32` arithmetic for.
pub(crate) fn supported(what: &'static str, grad: &Tensor) -> Result<u32, Error> {
    code(what, grad.dtype())
}
