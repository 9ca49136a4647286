//! What a policy is told about an operation that is about to run.

use binade_core::{DType, Op};

/// A number an override may depend on.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Attribute {
    /// Elements that are summed into one result, as [`Facts`](crate::Facts) has them by operation.
    ReductionLength,
    /// The exponent of a power, which no operation of Binade's own has: yours states it by
    /// [`OpCall::with_attributes`].
    Exponent,
}

impl Attribute {
    #[cfg(feature = "toml")]
    pub(crate) const ALL: [Self; 2] = [Self::ReductionLength, Self::Exponent];

    /// Its key in TOML, which serde writes too.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ReductionLength => "reduction_length",
            Self::Exponent => "exponent",
        }
    }
}

/// One operation about to run: words only, no tensor.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct OpCall<'a> {
    /// What it is.
    pub op: Op,
    /// Where it is in the model, as `encoder.0.linear`; empty if nobody said.
    pub path: &'a str,
    /// The element types it was given, in order.
    pub operands: &'a [DType],
    /// What else is known about it; empty if nobody said.
    pub attributes: &'a [(Attribute, f64)],
    /// Elements of each operand; empty if nobody said.
    pub elements: &'a [u64],
    /// The extents of a matrix product, M, N and K; empty if nobody said.
    pub extents: &'a [u64],
}

impl<'a> OpCall<'a> {
    /// A call of `op` on operands of these types, with no path and no attributes.
    pub const fn new(op: Op, operands: &'a [DType]) -> Self {
        Self { op, path: "", operands, attributes: &[], elements: &[], extents: &[] }
    }

    /// The same call at a place in the model.
    #[must_use]
    pub const fn with_path(self, path: &'a str) -> Self {
        Self { path, ..self }
    }

    /// The same call with attributes.
    #[must_use]
    pub const fn with_attributes(self, attributes: &'a [(Attribute, f64)]) -> Self {
        Self { attributes, ..self }
    }

    /// The same call with the number of elements of each operand.
    #[must_use]
    pub const fn with_elements(self, elements: &'a [u64]) -> Self {
        Self { elements, ..self }
    }

    /// The same call with the extents of its matrix product: M, N and K.
    #[must_use]
    pub const fn with_extents(self, extents: &'a [u64]) -> Self {
        Self { extents, ..self }
    }

    /// The same call with other operands.
    #[must_use]
    pub const fn with_operands(self, operands: &'a [DType]) -> Self {
        Self { operands, ..self }
    }

    /// The value of an attribute, if somebody said.
    pub fn attribute(&self, attribute: Attribute) -> Option<f64> {
        self.attributes.iter().find(|(a, _)| *a == attribute).map(|&(_, value)| value)
    }
}

/// A call of `op` by its name alone.
impl From<Op> for OpCall<'_> {
    fn from(op: Op) -> Self {
        Self::new(op, &[])
    }
}
