//! Shapes of attention.

use super::{bounded, size};
use crate::Op;
use crate::ops::ShapeError;

const EXPECTED: &str = "query [.., L, E], key [.., S, E], value [.., S, V] with equal leading extents; mask [L or 1, S] or [.., \
    L or 1, S], with leading extents of the query or 1, those that are not 1 side by side";

/// Place of each matrix of scores in a mask that is shared by several.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MaskLayout {
    /// Neighbouring matrices that share one of the mask.
    pub repeats: usize,
    /// Number of the mask's matrices, which repeat in turn.
    pub count: usize,
    /// True if the mask has a row for each query; otherwise one row is for all.
    pub has_rows: bool,
}

impl MaskLayout {
    /// Returns the layout of a mask for `query`, or `None` if the two do not fit.
    ///
    /// # Examples
    ///
    /// ```
    /// use binade_core::ops::shape::MaskLayout;
    ///
    /// // Keys are masked by sample, for all four heads and nine queries alike.
    /// let layout = MaskLayout::of(&[2, 4, 9, 64], &[2, 1, 1, 16]);
    /// assert_eq!(layout, Some(MaskLayout { repeats: 4, count: 2, has_rows: false }));
    /// ```
    pub fn of(query: &[usize], mask: &[usize]) -> Option<Self> {
        let ([lead @ .., rows, _], [of_mask @ .., mask_rows, _]) = (query, mask) else {
            return None;
        };
        if ![1, *rows].contains(mask_rows) || (!of_mask.is_empty() && of_mask.len() != lead.len()) {
            return None;
        }
        let is_shared = |extent: &usize| *extent == 1;
        let first = of_mask.iter().take_while(|extent| is_shared(extent)).count();
        let last =
            of_mask.len() - of_mask[first..].iter().rev().take_while(|it| is_shared(it)).count();
        let fits = of_mask[first..last] == lead[first.min(lead.len())..last];
        let (repeats, count) = (size(&lead[last..], 1)?, size(of_mask, 1)?);
        fits.then_some(Self { repeats, count, has_rows: mask_rows == rows })
    }

    /// Returns the row of the mask, over all its matrices, for `query` of `queries` in matrix `place` of scores.
    ///
    /// # Panics
    ///
    /// If there is no score.
    pub const fn row(&self, place: usize, query: usize, queries: usize) -> usize {
        let matrix = place / self.repeats % self.count;
        if self.has_rows { matrix * queries + query } else { matrix }
    }
}

/// Returns the shape of the output, `[.., L, V]`.
///
/// # Errors
///
/// `Mismatch` if the operands do not fit; `InvalidArgument` for a result larger than any memory.
pub(crate) fn attention(
    query: &[usize],
    key: &[usize],
    value: &[usize],
    mask: Option<&[usize]>,
) -> Result<Vec<usize>, ShapeError> {
    let op = Op::SCALED_DOT_PRODUCT_ATTENTION;
    match (query, key, value) {
        ([lead @ .., l, e], [lead2 @ .., s, e2], [lead3 @ .., s2, v])
            if lead == lead2
                && lead == lead3
                && (e, s) == (e2, s2)
                && mask.is_none_or(|mask| {
                    mask.last() == Some(s) && MaskLayout::of(query, mask).is_some()
                }) =>
        {
            // The statistics of queries without width are a result too.
            bounded(op, [lead, &[*l, 2]].concat())?;
            bounded(op, [lead, &[*l, *v]].concat())
        }
        _ => {
            let found = [&[query, key, value][..], mask.as_slice()].concat();
            Err(ShapeError::mismatch(op, &found, EXPECTED))
        }
    }
}
