//! Steps of the rows that a sparse gradient has.

use crate::{HostMasters, HostParamState, Master, MasterStore};
use binade_core::{DType, TrainError};

const RULE: &str = "its update rule has no step of rows alone: take SGD without momentum, Adagrad or sparse Adam, without weight decay";
const STORE: &str =
    "its store rounds by chance, or has one exponent for the whole parameter: take another store";

impl HostMasters {
    /// Refuses a sparse gradient of the parameter with this id if its rule or its store cannot step single rows.
    ///
    /// # Errors
    ///
    /// [`TrainError::SparseStep`], which names the parameter.
    pub fn check_sparse(&self, id: usize) -> Result<(), TrainError> {
        let Some(kept) = self.kept.get(id) else { return Ok(()) };
        let store = self.config.store;
        let has_store = kept.slot.stored == DType::F32
            || !matches!(store, MasterStore::Stochastic { .. } | MasterStore::ScaledF16);
        let refuse = |why| Err(TrainError::SparseStep { parameter: kept.name.clone(), why });
        match (kept.rule.steps_rows(), has_store) {
            (false, _) => refuse(RULE),
            (true, false) => refuse(STORE),
            (true, true) => Ok(()),
        }
    }
}

impl HostParamState {
    /// Returns the state of these rows of `width` elements, as the state of a separate parameter. A step of it is a step of the rows; then
    /// [`scatter`](Self::scatter) puts them back.
    ///
    /// The master must be one that [`HostMasters::check_sparse`] admits.
    ///
    /// # Panics
    ///
    /// For a row beyond the parameter's end.
    #[must_use]
    pub fn gather(&self, rows: &[usize], width: usize) -> Self {
        let master = match &self.master {
            Master::Copy(values) => Master::Copy(gathered(values, rows, width)),
            Master::Remainder(bits) => Master::Remainder(gathered(bits, rows, width)),
            Master::Compensation(bits) => Master::Compensation(gathered(bits, rows, width)),
            other => other.clone(),
        };
        let moments = self.moments.each_ref().map(|moment| kept(moment, rows, width));
        let bf16_moments = self.bf16_moments.each_ref().map(|moment| kept(moment, rows, width));
        let Self { norm, stored, applied, lost, .. } = *self;
        let len = rows.len() * width;
        Self { master, moments, bf16_moments, norm, len, stored, applied, lost }
    }

    /// Takes over the state of these rows after their step, and counts that step.
    ///
    /// # Panics
    ///
    /// For a row beyond the parameter's end, and a state of other rows.
    pub fn scatter(&mut self, stepped: Self, rows: &[usize], width: usize) {
        match (&mut self.master, stepped.master) {
            (Master::Copy(to), Master::Copy(from)) => scattered(to, &from, rows, width),
            (Master::Remainder(to), Master::Remainder(from))
            | (Master::Compensation(to), Master::Compensation(from)) => {
                scattered(to, &from, rows, width);
            }
            _ => (),
        }
        put_back(&mut self.moments, &stepped.moments, rows, width);
        put_back(&mut self.bf16_moments, &stepped.bf16_moments, rows, width);
        (self.applied, self.lost) = (stepped.applied, stepped.lost);
    }
}

/// Returns rows of a moment; none where the rule does not keep it.
fn kept<E: Copy>(moment: &[E], rows: &[usize], width: usize) -> Vec<E> {
    if moment.is_empty() { Vec::new() } else { gathered(moment, rows, width) }
}

fn put_back<E: Copy>(to: &mut [Vec<E>; 3], from: &[Vec<E>; 3], rows: &[usize], width: usize) {
    for (to, from) in to.iter_mut().zip(from).filter(|(to, _)| !to.is_empty()) {
        scattered(to, from, rows, width);
    }
}

/// Returns the elements of these rows of `width` elements.
///
/// # Panics
///
/// For a row beyond the end.
pub fn gathered<E: Copy>(from: &[E], rows: &[usize], width: usize) -> Vec<E> {
    let mut elements = Vec::with_capacity(rows.len() * width);
    for row in rows {
        elements.extend_from_slice(&from[row * width..(row + 1) * width]);
    }
    elements
}

/// Puts the elements of these rows of `width` elements in their places.
///
/// # Panics
///
/// For a row beyond the end, and fewer elements than the rows have.
pub fn scattered<E: Copy>(to: &mut [E], from: &[E], rows: &[usize], width: usize) {
    for (place, row) in rows.iter().enumerate() {
        to[row * width..(row + 1) * width].copy_from_slice(&from[place * width..][..width]);
    }
}
