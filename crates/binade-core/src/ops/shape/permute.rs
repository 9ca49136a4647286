//! Shapes of reordered axes, and where each element comes from.

use crate::ops::ShapeError;
use crate::{Op, OpClass};

/// Name of `Permute` in errors.
const PERMUTE: Op = Op::custom("permute", OpClass::Shape);

/// The most axes that are reordered.
pub const MOST_AXES: usize = 8;

/// Returns the shape with its axes in this order.
///
/// # Errors
///
/// `InvalidArgument` if they do not name each axis once, or are too many.
pub(crate) fn permute(input: &[usize], axes: &[usize]) -> Result<Vec<usize>, ShapeError> {
    let mut sorted = axes.to_vec();
    sorted.sort_unstable();
    if sorted.into_iter().eq(0..input.len()) && axes.len() <= MOST_AXES {
        return Ok(axes.iter().map(|axis| input[*axis]).collect());
    }
    let argument = format!("axes {axes:?}");
    Err(ShapeError::argument(PERMUTE, argument, &[input], "each axis once, and at most 8 of them"))
}

/// Axes of a permuted tensor, outermost first, merged where elements stay together: there is at least one, and no two neighbours
/// could be one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Permutation {
    /// Extent of each axis of the result.
    pub extents: Vec<usize>,
    /// Elements of the input from one place on the axis to the next.
    pub strides: Vec<usize>,
}

impl Permutation {
    /// Returns the axes of a tensor of `shape` in this order.
    ///
    /// # Examples
    ///
    /// ```
    /// use binade_core::ops::shape::Permutation;
    ///
    /// // Heads before positions: samples and the elements of a head stay as they are.
    /// let permutation = Permutation::new(&[2, 9, 4, 64], &[0, 2, 1, 3]);
    /// assert_eq!(permutation.extents, [2, 4, 9, 64]);
    /// assert_eq!(permutation.strides, [9 * 4 * 64, 64, 4 * 64, 1]);
    /// assert!(Permutation::new(&[2, 1, 3], &[1, 0, 2]).keeps_order());
    /// ```
    ///
    /// # Panics
    ///
    /// If `axes` names an axis that `shape` has not.
    pub fn new(shape: &[usize], axes: &[usize]) -> Self {
        let stride = |axis: usize| shape[axis + 1..].iter().product::<usize>();
        let mut merged: Vec<[usize; 2]> = Vec::new();
        for axis in axes.iter().filter(|axis| shape[**axis] != 1) {
            let [extent, stride] = [shape[*axis], stride(*axis)];
            match merged.last_mut() {
                Some(outer) if outer[1] == extent * stride => *outer = [outer[0] * extent, stride],
                _ => merged.push([extent, stride]),
            }
        }
        if merged.is_empty() {
            merged.push([1, 1]);
        }
        let [extents, strides] = [0, 1].map(|which| merged.iter().map(|it| it[which]).collect());
        Self { extents, strides }
    }

    /// Returns true if all elements stay where they are.
    pub fn keeps_order(&self) -> bool {
        self.strides == [1] || self.extents.contains(&0)
    }
}
