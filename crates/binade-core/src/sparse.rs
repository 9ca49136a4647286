//! Sparse gradients: the rows of a table that a step has looked up.

use crate::{DType, MatchError, Named, NamedGrads};
use std::{collections::BTreeMap, sync::Arc};

/// Gradient of a parameter: dense, or only the rows that were looked up.
#[derive(Clone, Debug, PartialEq)]
pub enum Gradient<T> {
    /// Gradient of the parameter's shape.
    Dense(T),
    /// Gradient that is zero in every row but these.
    Sparse(SparseGradient<T>),
}

/// Rows of a gradient. All other rows are zero, and a step does not change those rows of the parameter.
///
/// The rows are distinct; a device need not check it. [`SparseEmbedding`](crate::ops::SparseEmbedding) adds the gradients of a repeated index before
/// they are checked: each of two gradients of 64000 is finite in f16, and their sum is not.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseGradient<T> {
    /// Elements of the rows, `[n, …]`.
    pub values: T,
    /// Places of the rows in the parameter.
    pub rows: SparseRows<T>,
}

/// Places of the rows of a [`SparseGradient`].
#[derive(Clone, Debug, PartialEq)]
pub struct SparseRows<T> {
    /// Row of the parameter for each row of the values, `[n]` in i64; -1 marks a row of zeros without a place in the parameter.
    pub indices: T,
    /// Shape of the parameter, whose first extent counts its rows.
    pub shape: Vec<usize>,
}

impl<T> SparseRows<T> {
    /// Returns the number of elements of a row.
    pub fn width(&self) -> usize {
        self.shape.iter().skip(1).product()
    }

    /// Checks the element type and shape of the indices, and the shape of the values, of the sparse gradient of `parameter`.
    ///
    /// # Errors
    ///
    /// If there is not one i64 index for each row of the values, or they are not as wide as the parameter's rows.
    pub fn check(
        &self,
        parameter: &Arc<str>,
        (dtype, indices): (DType, &[usize]),
        values: &[usize],
    ) -> Result<(), MatchError> {
        let rows_fit = indices.len() == 1 && values.first() == indices.first();
        let widths_fit = !self.shape.is_empty() && values.get(1..) == self.shape.get(1..);
        if dtype == DType::I64 && rows_fit && widths_fit {
            return Ok(());
        }
        Err(MatchError { parameter: parameter.clone(), why: ROWS })
    }
}

/// Rows of a parameter whose elements are on the host: those listed, in ascending order, or all of them (`None`).
pub type HostRows = SparseRows<Option<Arc<[usize]>>>;

/// Functions of `values`, the elements of these rows in row-major order.
///
/// # Panics
///
/// The functions, for a row beyond the end of the parameter or of the values.
impl HostRows {
    /// Returns a function from the place of a value to its index in the parameter.
    pub fn elements(&self) -> impl Fn(usize) -> usize {
        let width = self.width();
        move |place| {
            let rows = self.indices.as_ref();
            rows.map_or(place, |rows| rows[place / width] * width + place % width)
        }
    }

    /// Returns all elements of the parameter, with zeros in the rows that are not here.
    #[must_use]
    pub fn whole(&self, values: Vec<f32>) -> Vec<f32> {
        let (Some(rows), width) = (&self.indices, self.width()) else { return values };
        let mut all = vec![0.0; self.shape.iter().product()];
        for (place, row) in rows.iter().enumerate() {
            all[row * width..][..width].copy_from_slice(&values[place * width..][..width]);
        }
        all
    }

    /// Returns the elements of the rows `wanted`, with zeros for missing rows.
    #[must_use]
    pub fn select(&self, values: &[f32], wanted: &[usize]) -> Vec<f32> {
        let width = self.width();
        let mut elements = vec![0.0; wanted.len() * width];
        for (to, row) in wanted.iter().enumerate() {
            let own = self.indices.as_ref();
            if let Some(place) = own.map_or(Some(*row), |own| own.binary_search(row).ok()) {
                elements[to * width..][..width].copy_from_slice(&values[place * width..][..width]);
            }
        }
        elements
    }
}

const ROWS: &str = "its sparse gradient needs one i64 index for each row of values, and values as wide as the parameter's rows";

impl<T> Gradient<T> {
    fn into_parts(self) -> (T, Option<SparseRows<T>>) {
        match self {
            Self::Dense(values) => (values, None),
            Self::Sparse(SparseGradient { values, rows }) => (values, Some(rows)),
        }
    }
}

/// Set of gradients, dense or sparse: one entry for each trainable parameter, `None` if it has no gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseGrads<T>(pub NamedGrads<Gradient<T>>);

/// Makes a set of whole gradients.
impl<T> From<Vec<Named<Option<T>>>> for SparseGrads<T> {
    fn from(grads: NamedGrads<T>) -> Self {
        let whole = |Named { name, value }: Named<Option<T>>| Named {
            name,
            value: value.map(Gradient::Dense),
        };
        Self(grads.into_iter().map(whole).collect())
    }
}

impl<T> SparseGrads<T> {
    /// Returns the elements under their names, and the places of the rows of each sparse gradient by its place in the set.
    pub fn into_parts(self) -> (NamedGrads<T>, BTreeMap<usize, SparseRows<T>>) {
        let mut all = BTreeMap::new();
        let entry = |(place, Named { name, value }): (usize, Named<Option<Gradient<T>>>)| {
            let (value, rows) = value.map(Gradient::into_parts).unzip();
            all.extend(rows.flatten().map(|rows| (place, rows)));
            Named { name, value }
        };
        let entries = self.0.into_iter().enumerate().map(entry).collect();
        (entries, all)
    }
}
