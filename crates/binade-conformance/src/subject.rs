//! What is put to the test, and what it may answer.

use crate::Arithmetic;
use binade_core::{DType, Error, ErrorKind, Finding, Named, NamedGrads};
use binade_grad_scaler::{LossScale, ScaleState};
use binade_master_weights::UpdateRule;

/// A backend or a tensor, as the kit sees it.
///
/// Three things are asked of everyone: a tensor from bits, bits from a tensor, and what the arithmetic is like. Each
/// operation is optional; what is left out is skipped, counted and printed. Implement it over the traits that users
/// call, by way of [`via`](crate::via), so that what is tested is what is used.
///
/// Bits are little-endian and row-major. Values would not do: a NaN's bits, and eight-bit formats, would be lost.
#[expect(unused_variables, reason = "parameter names are documentation")]
pub trait Subject {
    /// The tensor under test.
    type Tensor;

    /// The device's name, as `BINADE_REQUIRE` lists it.
    fn name(&self) -> &str;

    /// What its arithmetic is like. The kit's agreement depends on it.
    fn arithmetic(&self) -> Arithmetic;

    /// A tensor of `shape` whose elements have these bits.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a type that it does not store.
    #[expect(clippy::wrong_self_convention, reason = "the subject is the device, not the tensor")]
    fn from_bits(
        &self,
        bits: &[u8],
        dtype: DType,
        shape: &[usize],
    ) -> Result<Self::Tensor, Refusal>;

    /// The bits of a tensor's elements.
    ///
    /// # Errors
    ///
    /// When the device fails.
    fn to_bits(&self, tensor: &Self::Tensor) -> Result<Vec<u8>, Refusal>;

    /// `tensor` in another element type.
    ///
    /// # Errors
    ///
    /// `Unsupported` where there is no such cast.
    fn cast(&self, tensor: &Self::Tensor, to: DType) -> Result<Self::Tensor, Refusal> {
        Err(Refusal::unsupported("cast"))
    }

    /// Gradients divided by their scale, in `f32`, and what the pass found.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn unscale(
        &self,
        grads: NamedGrads<Self::Tensor>,
        scale: ScaleState,
    ) -> Result<Unscaled<Self::Tensor>, Refusal> {
        Err(Refusal::unsupported("unscale"))
    }

    /// The scale after an iteration.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn update_scale(
        &self,
        rule: &LossScale,
        scale: ScaleState,
        round: &Round,
    ) -> Result<ScaleState, Refusal> {
        Err(Refusal::unsupported("update_scale"))
    }

    /// Parameters after `turns`, which begin with fresh masters and moments.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn train(
        &self,
        params: Vec<Named<Self::Tensor>>,
        turns: Vec<Turn<Self::Tensor>>,
    ) -> Result<Vec<Named<Self::Tensor>>, Refusal> {
        Err(Refusal::unsupported("train"))
    }

    /// The product of two matrices, in their element type.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn matmul(&self, a: &Self::Tensor, b: &Self::Tensor) -> Result<Self::Tensor, Refusal> {
        Err(Refusal::unsupported("matmul"))
    }

    /// The sum of all elements, as an `f32` scalar.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn sum(&self, tensor: &Self::Tensor) -> Result<Self::Tensor, Refusal> {
        Err(Refusal::unsupported("sum"))
    }

    /// The mean of all elements, as an `f32` scalar.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn mean(&self, tensor: &Self::Tensor) -> Result<Self::Tensor, Refusal> {
        Err(Refusal::unsupported("mean"))
    }
}

/// Why a subject gave no result.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// It cannot do this: a skip.
    Unsupported(String),
    /// It can, and did not: a failure.
    Failed(String),
}

impl Refusal {
    /// It cannot do `what`.
    pub fn unsupported(what: &str) -> Self {
        Self::Unsupported(format!("{what} is not supported"))
    }
}

/// Device errors sort themselves by kind, so that `?` is all that a subject needs.
impl<E: Error> From<E> for Refusal {
    fn from(error: E) -> Self {
        match error.kind() {
            ErrorKind::Unsupported => Self::Unsupported(error.to_string()),
            kind => Self::Failed(format!("{kind:?}: {error}")),
        }
    }
}

/// A set of gradients after unscaling.
#[derive(Clone, Debug)]
pub struct Unscaled<T> {
    /// The gradients, divided, in `f32`.
    pub grads: NamedGrads<T>,
    /// What the pass found.
    pub found: Finding,
}

/// What an iteration found, as flags that are raised or not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Round {
    /// One for each pass over gradients.
    pub parts: Vec<bool>,
    /// One for each optimizer step.
    pub verdicts: Vec<bool>,
}

/// One turn of a training loop: gradients as backward left them, unscaled, checked and stepped.
#[derive(Clone, Debug)]
pub struct Turn<T> {
    /// How parameters move in this turn.
    pub rule: UpdateRule,
    /// Scaled gradients, by parameter.
    pub grads: NamedGrads<T>,
    /// The scale that they were made with.
    pub scale: ScaleState,
}
