//! Sparse gradients: their rows, and their sums.

use super::{Gradients, multiplied, supported};
use crate::{
    Error, Stored, Tensor,
    scaler::{add, each},
};
use binade_core::{DType, Element, MatchError, Named, SparseRows};
use binade_master_weights::{gathered, step::Factor};
use half::{bf16, f16};

const ORDER: &str =
    "its sparse gradient needs rows of the parameter, each once, in ascending order";

/// Returns the rows that have a place, each with its place among the values.
fn placed(rows: &SparseRows<Tensor>) -> impl Iterator<Item = (usize, usize)> {
    let indices = rows.indices.as_slice::<i64>().unwrap_or_default();
    let row = |(place, row): (usize, &i64)| Some((place, usize::try_from(*row).ok()?));
    indices.iter().enumerate().filter_map(row)
}

/// Returns a whole gradient in `f32` of the rows of a sparse one, `values`.
pub(super) fn whole(values: &Tensor, rows: &SparseRows<Tensor>) -> Result<Tensor, Error> {
    let (mut all, width) = (vec![0.0; rows.shape.iter().product()], rows.width());
    let values = values.to_f32();
    for (place, row) in placed(rows) {
        all[row * width..(row + 1) * width].copy_from_slice(&values[place * width..][..width]);
    }
    Tensor::new(all, &rows.shape)
}

/// Returns the elements of the rows `wanted`, an ascending list that contains those of `values`, and zeros for the others.
fn spread(values: &Tensor, rows: &SparseRows<Tensor>, wanted: &[i64]) -> Result<Tensor, Error> {
    let width = rows.width();
    let mut spread = vec![0.0; wanted.len() * width];
    let values = values.to_f32();
    for (place, row) in placed(rows) {
        let at =
            wanted.partition_point(|other| usize::try_from(*other).is_ok_and(|other| other < row));
        spread[at * width..(at + 1) * width].copy_from_slice(&values[place * width..][..width]);
    }
    let mut shape = rows.shape.clone();
    shape[0] = wanted.len();
    Tensor::new(spread, &shape)
}

impl Gradients {
    /// Returns the rows of the sparse gradient at `place` and their places among its values; `None` for a whole one.
    pub(crate) fn rows_of(&self, place: usize) -> Option<Vec<(usize, usize)>> {
        self.rows.get(&place).map(|rows| placed(rows).collect())
    }

    /// Returns the rows of each sparse gradient.
    pub(crate) fn saved_rows(&self) -> Vec<Named<Vec<u64>>> {
        let saved = |(place, rows): (&usize, &SparseRows<Tensor>)| {
            let indices = placed(rows).map(|(_, row)| row as u64).collect();
            Named::new(self.entries[*place].name.clone(), indices)
        };
        self.rows.iter().map(saved).collect()
    }

    /// Returns a set of whole gradients with the gradients sparse that have `rows`.
    pub(crate) fn with_rows(mut self, rows: &[Named<Vec<u64>>]) -> Result<Self, Error> {
        for Named { name, value: rows } in rows {
            let entry = |(_, entry): &(usize, &mut Named<Option<Tensor>>)| entry.name == *name;
            let Some((place, Named { value: Some(value), .. })) =
                self.entries.iter_mut().enumerate().find(entry)
            else {
                continue;
            };
            let shape = value.shape().to_vec();
            let indices: Vec<i64> = rows.iter().map(|row| row.cast_signed()).collect();
            let indices = Tensor::new(indices, &[rows.len()])?;
            let places: Vec<usize> =
                rows.iter().filter_map(|row| usize::try_from(*row).ok()).collect();
            *value = rows_of(value, &places)?;
            self.rows.insert(place, SparseRows { indices, shape });
        }
        Ok(self)
    }

    /// Refuses sparse gradients that are none: of other forms, or with rows that the parameter has not, or twice.
    pub(crate) fn check_rows(&self) -> Result<(), Error> {
        for (place, rows) in &self.rows {
            let Named { name, value: Some(value) } = &self.entries[*place] else { continue };
            let indices = &rows.indices;
            rows.check(name, (indices.dtype(), indices.shape()), value.shape())?;
            let places: Vec<usize> = placed(rows).map(|(_, row)| row).collect();
            let ascends = places.is_sorted_by(|row, next| row < next);
            if !(ascends && places.last().is_none_or(|last| *last < rows.shape[0])) {
                return Err(MatchError { parameter: name.clone(), why: ORDER }.into());
            }
        }
        Ok(())
    }

    /// Returns the index in the parameter of an element of the gradient at `place`.
    pub(super) fn index_in_parameter(&self, place: usize, index: usize) -> usize {
        let Some(rows) = self.rows.get(&place) else { return index };
        let width = rows.width().max(1);
        let indices = rows.indices.as_slice::<i64>().unwrap_or_default();
        let row = indices.get(index / width).and_then(|row| usize::try_from(*row).ok());
        row.unwrap_or_default() * width + index % width
    }

    /// Returns a sum that begins with these gradients.
    pub(crate) fn begun(&self) -> Result<Self, Error> {
        let mut sum = self.apply_factors()?;
        for place in self.rows.keys() {
            sum.entries[*place].value.iter_mut().for_each(add_to_zero);
        }
        Ok(sum)
    }

    /// Adds the gradient at `place` of `grads` to this one, which is `f32` and has no factors.
    pub(crate) fn add(&mut self, place: usize, grads: &Self) -> Result<(), Error> {
        let Some(grad) = &grads.entries[place].value else { return Ok(()) };
        let Some(sum) = &mut self.entries[place].value else {
            let mut first = multiplied(grad, grads.factor)?;
            if grads.rows.contains_key(&place) {
                add_to_zero(&mut first);
            }
            self.entries[place].value = Some(first);
            self.rows.extend(grads.rows.get(&place).map(|rows| (place, rows.clone())));
            return Ok(());
        };
        match (self.rows.get_mut(&place), grads.rows.get(&place)) {
            (None, None) => add(sum, grad, grads.factor),
            (None, Some(rows)) => add_rows(sum, grad, rows, grads.factor),
            (Some(rows), None) => {
                *sum = whole(sum, rows)?;
                self.rows.remove(&place);
                add(sum, grad, grads.factor)
            }
            (Some(rows), Some(more)) => {
                let all = union([rows, more]);
                *sum = spread(sum, rows, &all)?;
                rows.indices = Tensor::new(all.clone(), &[all.len()])?;
                add(sum, &spread(grad, more, &all)?, grads.factor)
            }
        }
    }
}

/// Adds rows to zero, like the rows of a sum: -0 becomes 0.
fn add_to_zero(rows: &mut Tensor) {
    each(rows, |x| x + 0.0);
}

/// Adds rows, times both factors, to a whole `f32` gradient.
fn add_rows(
    sum: &mut Tensor,
    grad: &Tensor,
    rows: &SparseRows<Tensor>,
    factor: Factor,
) -> Result<(), Error> {
    supported(grad, "add gradients of")?;
    let (terms, width) = (grad.to_f32(), rows.width());
    let sums = sum.as_mut_slice::<f32>().unwrap_or_default();
    for (place, row) in placed(rows) {
        let terms = &terms[place * width..(place + 1) * width];
        let sums = sums[row * width..].iter_mut().zip(terms);
        sums.for_each(|(sum, term)| *sum += factor.apply(*term));
    }
    Ok(())
}

/// Returns the rows of both, in ascending order.
fn union(rows: [&SparseRows<Tensor>; 2]) -> Vec<i64> {
    let all = rows.iter().flat_map(|rows| rows.indices.as_slice::<i64>().unwrap_or_default());
    let mut all: Vec<i64> = all.copied().filter(|row| *row >= 0).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns these rows of a tensor.
pub(crate) fn rows_of(tensor: &Tensor, rows: &[usize]) -> Result<Tensor, Error> {
    fn of<E: Element + Stored>(tensor: &Tensor, rows: &[usize]) -> Result<Tensor, Error> {
        let mut shape = tensor.shape().to_vec();
        shape[0] = rows.len();
        let width = shape[1..].iter().product();
        Tensor::new(gathered(tensor.as_slice::<E>().unwrap_or_default(), rows, width), &shape)
    }
    match tensor.dtype() {
        DType::BF16 => of::<bf16>(tensor, rows),
        DType::F16 => of::<f16>(tensor, rows),
        _ => of::<f32>(tensor, rows),
    }
}
