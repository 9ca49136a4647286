//! Parts of tensors along one axis, and the shapes of tensors that are cut or joined there.

use super::bounded;
use crate::ops::ShapeError;
use crate::{Op, OpClass};

/// Name of `Narrow` in errors.
const NARROW: Op = Op::custom("narrow", OpClass::Shape);

/// Returns the shape of `len` places of an axis, from `start` on.
///
/// # Errors
///
/// `InvalidArgument` if the axis does not exist or is too short.
pub(crate) fn narrow(
    input: &[usize],
    axis: usize,
    [start, len]: [usize; 2],
) -> Result<Vec<usize>, ShapeError> {
    let mut shape = input.to_vec();
    match (shape.get_mut(axis), start.checked_add(len)) {
        (Some(extent), Some(end)) if end <= *extent => {
            *extent = len;
            Ok(shape)
        }
        _ => {
            let argument = format!("{len} places of axis {axis} from {start} on");
            let expected = "an axis of the input, and places that it has";
            Err(ShapeError::argument(NARROW, argument, &[input], expected))
        }
    }
}

/// Checks that `narrowed` is the shape of some places of an axis of `shape`, from `start` on.
///
/// # Errors
///
/// `InvalidArgument` if the range does not exist; `Mismatch` if other axes differ.
pub(crate) fn check_narrowed(
    shape: &[usize],
    axis: usize,
    start: usize,
    narrowed: &[usize],
) -> Result<(), ShapeError> {
    let len = narrowed.get(axis).copied().unwrap_or_default();
    if narrow(shape, axis, [start, len])? == narrowed {
        return Ok(());
    }
    let expected = "a gradient that differs from the input's shape on the axis alone";
    Err(ShapeError::mismatch(NARROW, &[narrowed, shape], expected))
}

/// Returns the shape of tensors that are joined along an axis.
///
/// # Errors
///
/// `InvalidArgument` if there is no such axis, and for a result larger than any memory; `Mismatch` if other axes differ.
pub(crate) fn cat(inputs: &[&[usize]], axis: usize) -> Result<Vec<usize>, ShapeError> {
    let Some((first, rest)) = inputs.split_first().filter(|(first, _)| axis < first.len()) else {
        let argument = format!("axis {axis}");
        return Err(ShapeError::argument(Op::CAT, argument, inputs, "an axis of the inputs"));
    };
    let mut shape = first.to_vec();
    for input in rest {
        let mut like_first = input.to_vec();
        if let Some(extent) = like_first.get_mut(axis) {
            *extent = first[axis];
        }
        if like_first != *first {
            let expected = "shapes that differ on the axis alone";
            return Err(ShapeError::mismatch(Op::CAT, inputs, expected));
        }
        shape[axis] = shape[axis].saturating_add(input[axis]);
    }
    bounded(Op::CAT, shape)
}

/// Part of a tensor along one axis: lines of elements that lie together, at equal distances.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Part {
    /// Number of lines.
    pub lines: usize,
    /// Elements of a line.
    pub len: usize,
    /// Elements before the first line.
    pub first: usize,
    /// Number of elements from the start of one line to the start of the next.
    pub stride: usize,
}

impl Part {
    /// Returns `len` places of an axis of a tensor of `shape`, from `start` on.
    ///
    /// # Examples
    ///
    /// ```
    /// use binade_core::ops::shape::Part;
    ///
    /// // The second of three equal parts of the last axis.
    /// let keys = Part::new(&[2, 9, 48], 2, 16, 16);
    /// assert_eq!(keys, Part { lines: 18, len: 16, first: 16, stride: 48 });
    /// ```
    ///
    /// # Panics
    ///
    /// If `shape` has no such axis.
    pub fn new(shape: &[usize], axis: usize, start: usize, len: usize) -> Self {
        let inner: usize = shape[axis + 1..].iter().product();
        Self {
            lines: shape[..axis].iter().product(),
            len: len * inner,
            first: start * inner,
            stride: shape[axis] * inner,
        }
    }

    /// Returns true if the part has no element.
    pub const fn is_empty(&self) -> bool {
        self.lines == 0 || self.len == 0
    }
}
