//! Sets of gradients with the factors that their values still have to be multiplied by.

mod inspect;
mod sparse;

pub(crate) use inspect::inspect;

use crate::{Error, Tensor, parallel};
use binade_core::{DType, Named, SparseGrads, SparseRows};
use binade_grad_scaler::Norm;
use binade_master_weights::step::Factor;
pub(crate) use sparse::rows_of;

use sparse::whole;
use std::{collections::BTreeMap, ops::Range, sync::Arc};

/// Number of elements widened at once: few enough to stay in the cache until they are used.
const CHUNK: usize = 512;

/// Gradients by parameter, and the factors of unscaling and clipping that are not multiplied in yet.
///
/// Unscaling only reads the values. The fused step multiplies, in `f32`, as it reads. [`GradSet::materialise`](binade_core::GradSet::materialise)
/// multiplies for all other users.
#[derive(Clone, Debug)]
pub struct Gradients {
    pub(crate) entries: Vec<Named<Option<Tensor>>>,
    /// Rows of the sparse gradients, by place: their entries have the elements of only these rows.
    pub(crate) rows: BTreeMap<usize, SparseRows<Tensor>>,
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

impl Measured {
    /// Appends the sizes of other gradients.
    pub(crate) fn join(&mut self, other: Self) {
        self.squares += other.squares;
        // Bits of NaN are the largest.
        let larger = self.largest.to_bits().max(other.largest.to_bits());
        self.largest = f32::from_bits(larger);
    }

    /// Returns the norm before rounding.
    pub(crate) fn norm(self, which: Norm) -> f64 {
        match which {
            Norm::L2 => self.squares.sqrt(),
            Norm::Infinity => f64::from(self.largest),
        }
    }
}

impl From<Vec<Named<Option<Tensor>>>> for Gradients {
    fn from(entries: Vec<Named<Option<Tensor>>>) -> Self {
        Self { entries, rows: BTreeMap::new(), factor: Factor::ONE, measured: None }
    }
}

impl From<SparseGrads<Tensor>> for Gradients {
    fn from(gradients: SparseGrads<Tensor>) -> Self {
        let (entries, rows) = gradients.into_parts();
        Self { rows, ..entries.into() }
    }
}

impl Gradients {
    /// Returns the parameters' names, in order, with or without a gradient.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.entries.iter().map(|entry| &entry.name)
    }

    /// Returns the gradients as backward left them, or as the last operation on the whole set did: not yet multiplied. A sparse gradient has only its
    /// rows.
    pub fn as_stored(&self) -> &[Named<Option<Tensor>>] {
        &self.entries
    }

    /// Returns the places of the rows of the gradient at `place` in the set; `None` for a whole one.
    pub fn rows(&self, place: usize) -> Option<&SparseRows<Tensor>> {
        self.rows.get(&place)
    }

    /// Returns the gradients that are present, with their place in the set.
    pub(crate) fn present(&self) -> impl Iterator<Item = (usize, &Tensor)> {
        self.entries.iter().enumerate().filter_map(|(i, entry)| Some((i, entry.value.as_ref()?)))
    }

    /// Returns the properties that must agree in a sum of sets: each parameter's name, and its shape if it has a gradient.
    pub(crate) fn shapes(&self) -> impl Iterator<Item = (&Arc<str>, Option<&[usize]>)> + Clone {
        self.entries.iter().enumerate().map(|(place, entry)| {
            let own = entry.value.as_ref().map(Tensor::shape);
            (&entry.name, self.rows.get(&place).map(|rows| &*rows.shape).or(own))
        })
    }

    /// Returns unscaled, clipped, whole gradients in `f32`.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for gradients that are not bf16, f16 or f32.
    pub(crate) fn materialised(&self) -> Result<Vec<Named<Option<Tensor>>>, Error> {
        let mut set = self.apply_factors()?;
        for (place, rows) in &set.rows {
            if let Some(value) = &mut set.entries[*place].value {
                *value = whole(value, rows)?;
            }
        }
        Ok(set.entries)
    }

    /// Returns the set in `f32`, with its factors multiplied in.
    pub(crate) fn apply_factors(&self) -> Result<Self, Error> {
        self.multiplied_by(|_| self.factor)
    }

    /// Returns the set in `f32`, each gradient times the factors for its place.
    pub(crate) fn multiplied_by(&self, factor: impl Fn(usize) -> Factor) -> Result<Self, Error> {
        self.check_rows()?;
        let one = |(place, entry): (usize, &Named<Option<Tensor>>)| {
            let value = entry.value.as_ref().map(|tensor| multiplied(tensor, factor(place)));
            Ok(Named { name: entry.name.clone(), value: value.transpose()? })
        };
        let entries =
            self.entries.iter().enumerate().map(one).collect::<Result<Vec<_>, Error>>()?;
        Ok(Self { rows: self.rows.clone(), ..entries.into() })
    }
}

/// Refuses a gradient of a type without `f32` arithmetic; `what` names the operation.
pub(crate) fn supported(grad: &Tensor, what: &'static str) -> Result<(), Error> {
    match grad.dtype() {
        DType::BF16 | DType::F16 | DType::F32 => Ok(()),
        dtype => Err(Error::Unsupported { what, dtype }),
    }
}

/// Returns `tensor` in `f32`, times both factors.
pub(crate) fn multiplied(tensor: &Tensor, factor: Factor) -> Result<Tensor, Error> {
    supported(tensor, "materialise gradients of")?;
    let mut product = tensor.cast(DType::F32)?;
    if let (true, Some(values)) = (factor != Factor::ONE, product.as_mut_slice::<f32>()) {
        parallel::blocks(values, |_, block| {
            for x in block {
                *x = factor.apply(*x);
            }
        });
    }
    Ok(product)
}

/// Calls `look(first, elements)` for consecutive elements of `range`, `first` being the index of the first of them.
///
/// All pieces but the last are a multiple of 16.
pub(crate) fn widened(tensor: &Tensor, range: Range<usize>, mut look: impl FnMut(usize, &[f32])) {
    if let Some(elements) = tensor.as_slice() {
        return look(range.start, &elements[range]);
    }
    let mut wide = [0.0; CHUNK];
    for first in range.clone().step_by(CHUNK) {
        let chunk = first..range.end.min(first + CHUNK);
        look(first, tensor.widened(chunk, &mut wide));
    }
}
