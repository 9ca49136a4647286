//! A set of gradients that knows what it still has to be multiplied by.

mod inspect;
mod materialise;
mod widen;

pub(crate) use inspect::inspect;
pub(crate) use materialise::multiplied;
pub(crate) use widen::widened;

use crate::{Error, Tensor};
use binade_core::{DType, Named};
use binade_master_weights::step::Factor;
use std::sync::Arc;

/// Gradients by parameter, and the factors that unscaling and clipping have left to whoever reads the values.
///
/// Unscaling only looks; the fused step multiplies, in `f32`, as it reads. [`materialised`](Self::materialised) is for
/// everyone else.
#[derive(Clone, Debug)]
pub struct Gradients {
    pub(crate) entries: Vec<Named<Option<Tensor>>>,
    pub(crate) factor: Factor,
    /// Of the unscaled, unclipped values, since a pass over them measured it.
    pub(crate) measured: Option<Measured>,
}

/// Sizes of all gradients together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Measured {
    /// Sum of squares, in `f64`: enough for squares of 1e25 and for 64 M terms.
    pub(crate) squares: f64,
    /// The largest absolute value; NaN if there is one.
    pub(crate) largest: f32,
}

impl From<Vec<Named<Option<Tensor>>>> for Gradients {
    fn from(entries: Vec<Named<Option<Tensor>>>) -> Self {
        Self { entries, factor: Factor::ONE, measured: None }
    }
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

    /// Those that are there, with their place in the set.
    pub(crate) fn present(&self) -> impl Iterator<Item = (usize, &Tensor)> {
        self.entries.iter().enumerate().filter_map(|(i, entry)| Some((i, entry.value.as_ref()?)))
    }
}

/// Refuses a gradient of a type that there is no `f32` arithmetic for; `what` cannot be done with it.
pub(crate) fn supported(grad: &Tensor, what: &'static str) -> Result<(), Error> {
    match grad.dtype() {
        DType::BF16 | DType::F16 | DType::F32 => Ok(()),
        dtype => Err(Error::Unsupported { what, dtype }),
    }
}
