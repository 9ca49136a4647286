//! Description of an operation that is about to run, as a policy gets it.

use binade_core::{DType, Op};

/// Operation that is about to run, described without its tensors.
#[derive(Clone, Copy, Debug)]
pub struct OpCall<'a> {
    /// Operation.
    pub op: Op,
    /// Place in the model, as `encoder.0.linear`; empty if unknown.
    pub path: &'a str,
    /// Element types of the operands, in order.
    pub operands: &'a [DType],
    /// Number of elements that are summed into one result; `None` if the operation sums none, or it is unknown.
    pub reduction: Option<u64>,
    /// Number of elements of each operand; empty if unknown.
    pub elements: &'a [u64],
    /// Extents of a matrix product, M, N and K; `None` for any other operation, or if they are unknown.
    pub extents: Option<[u64; 3]>,
}

impl<'a> OpCall<'a> {
    /// Creates a call of `op` on operands of these types, with no path and no sizes.
    pub const fn new(op: Op, operands: &'a [DType]) -> Self {
        Self { op, path: "", operands, reduction: None, elements: &[], extents: None }
    }
}

/// Creates a call of `op` by its name alone.
impl From<Op> for OpCall<'_> {
    fn from(op: Op) -> Self {
        Self::new(op, &[])
    }
}
