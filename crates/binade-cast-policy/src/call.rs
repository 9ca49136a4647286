//! Description of an operation that is about to run, as a policy gets it.

use binade_core::{DType, Op};

/// Number that an override may depend on.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Attribute {
    /// Number of elements that are summed into one result, as [`OpSizes`](crate::OpSizes) has it by operation.
    ReductionLength,
    /// Exponent of a power. No operation of Binade has one; a user's states it by [`OpCall::with_attributes`].
    Exponent,
}

impl Attribute {
    #[cfg(feature = "toml")]
    pub(crate) const ALL: [Self; 2] = [Self::ReductionLength, Self::Exponent];

    /// Returns its key in TOML, which serde writes too.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ReductionLength => "reduction_length",
            Self::Exponent => "exponent",
        }
    }
}

/// Operation that is about to run: words only, no tensor.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct OpCall<'a> {
    /// Operation.
    pub op: Op,
    /// Place in the model, as `encoder.0.linear`; empty if unknown.
    pub path: &'a str,
    /// Element types of the operands, in order.
    pub operands: &'a [DType],
    /// Further attributes; empty if unknown.
    pub attributes: &'a [(Attribute, f64)],
    /// Number of elements of each operand; empty if unknown.
    pub elements: &'a [u64],
    /// Extents of a matrix product, M, N and K; empty if unknown.
    pub extents: &'a [u64],
}

impl<'a> OpCall<'a> {
    /// Creates a call of `op` on operands of these types, with no path and no attributes.
    pub const fn new(op: Op, operands: &'a [DType]) -> Self {
        Self { op, path: "", operands, attributes: &[], elements: &[], extents: &[] }
    }

    /// Sets the place in the model.
    #[must_use]
    pub const fn with_path(self, path: &'a str) -> Self {
        Self { path, ..self }
    }

    /// Sets the attributes.
    #[must_use]
    pub const fn with_attributes(self, attributes: &'a [(Attribute, f64)]) -> Self {
        Self { attributes, ..self }
    }

    /// Sets the number of elements of each operand.
    #[must_use]
    pub const fn with_elements(self, elements: &'a [u64]) -> Self {
        Self { elements, ..self }
    }

    /// Sets the extents of the matrix product: M, N and K.
    #[must_use]
    pub const fn with_extents(self, extents: &'a [u64]) -> Self {
        Self { extents, ..self }
    }

    /// Sets the operands' types.
    #[must_use]
    pub const fn with_operands(self, operands: &'a [DType]) -> Self {
        Self { operands, ..self }
    }

    /// Returns the value of an attribute, if the call has it.
    pub fn attribute(&self, attribute: Attribute) -> Option<f64> {
        self.attributes.iter().find(|(a, _)| *a == attribute).map(|&(_, value)| value)
    }
}

/// Creates a call of `op` by its name alone.
impl From<Op> for OpCall<'_> {
    fn from(op: Op) -> Self {
        Self::new(op, &[])
    }
}
