//! Sets of gradients with the factors that their values still have to be multiplied by.

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

/// Gradients by parameter, and the factors of unscaling and clipping that are not multiplied in yet.
///
/// Unscaling only reads the values. The fused step multiplies, in `f32`, as it reads. [`materialised`](Self::materialised)
/// multiplies for all other users.
#[derive(Clone, Debug)]
pub struct Gradients {
    pub(crate) entries: Vec<Named<Option<Tensor>>>,
    pub(crate) factor: Factor,
    /// Sizes of the unscaled, unclipped values, if a pass has measured them.
    pub(crate) measured: Option<Measured>,
}

/// Sizes of all gradients together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Measured {
    /// Sum of squares, in `f64`: enough for squares of 1e25 and for 64 M terms.
    pub(crate) squares: f64,
    /// Largest absolute value; NaN if there is one.
    pub(crate) largest: f32,
}

impl From<Vec<Named<Option<Tensor>>>> for Gradients {
    fn from(entries: Vec<Named<Option<Tensor>>>) -> Self {
        Self { entries, factor: Factor::ONE, measured: None }
    }
}

impl Gradients {
    /// Returns the parameters' names, in order, with or without a gradient.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.entries.iter().map(|entry| &entry.name)
    }

    /// Returns the gradients as backward left them, or as the last operation on the whole set did: not yet multiplied.
    pub fn as_stored(&self) -> &[Named<Option<Tensor>>] {
        &self.entries
    }

    /// Returns the gradients that are present, with their place in the set.
    pub(crate) fn present(&self) -> impl Iterator<Item = (usize, &Tensor)> {
        self.entries.iter().enumerate().filter_map(|(i, entry)| Some((i, entry.value.as_ref()?)))
    }
}

/// Refuses a gradient of a type without `f32` arithmetic; `what` names the operation.
pub(crate) fn supported(grad: &Tensor, what: &'static str) -> Result<(), Error> {
    match grad.dtype() {
        DType::BF16 | DType::F16 | DType::F32 => Ok(()),
        dtype => Err(Error::Unsupported { what, dtype }),
    }
}
