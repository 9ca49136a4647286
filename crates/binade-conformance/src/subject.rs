//! What is put to the test, and what it may answer.

use crate::{
    Arithmetic, Clip, Collected, Coordinates, Course, Delayed, Iteration, Joined, Layout, Led,
    Losses, MicroBatch, OpInvocation, Round, Turn, Unscaled, Walked,
};
use binade_core::{DType, Error, ErrorKind, Finding, Named, NamedGrads, stochastic::Key};
use binade_grad_scaler::{ClipGroup, Join, LossScale, Norm, ScaleState, Step};
use binade_master_weights::MasterStore;

/// A backend or a tensor, as the kit sees it.
///
/// Three things are asked of everyone: a tensor from bits, bits from a tensor, and what the arithmetic is like. Each
/// operation is optional; what is left out is skipped, counted and printed. Implement it over the traits that users
/// call, by way of [`via`](crate::via), so that what is tested is what is used.
///
/// Bits are little-endian and row-major. Values would not do: a NaN's bits, and eight-bit formats, would be lost.
///
/// # For implementers
///
/// * `to_bits` gives the bits that `from_bits` was given, those of every NaN too.
/// * `view` gives the tensor that `from_bits` gives, however its elements lie in their buffer.
/// * What it cannot do is `Unsupported`, which is a skip; what it was given and is wrong, `Rejected`; all else, `Failed`.
#[expect(unused_variables, reason = "parameter names are documentation")]
pub trait Subject {
    /// The tensor under test.
    type Tensor;

    /// The device's name, as `BINADE_REQUIRE` lists it.
    fn name(&self) -> &str;

    /// What its arithmetic is like. The kit's agreement depends on it.
    fn arithmetic(&self) -> Arithmetic;

    /// Returns true where the tensor joins by `AmpTensor`, whose sentences a report then names: all other traits are Binade's.
    fn joins_by_amp_tensor(&self) -> bool {
        false
    }

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

    /// Makes the tensor of [`from_bits`](Self::from_bits) as a view of this layout. A vector load goes wrong where one begins in the middle of a buffer, and a
    /// walk through memory where its elements do not lie in their order.
    ///
    /// The provided method makes the tensor as always for [`Layout::Offset`], and has no other layout.
    ///
    /// # Errors
    ///
    /// The errors of [`from_bits`](Self::from_bits), and `Unsupported` for a layout that its tensors cannot have.
    fn view(
        &self,
        bits: &[u8],
        dtype: DType,
        shape: &[usize],
        layout: Layout,
    ) -> Result<Self::Tensor, Refusal> {
        match layout {
            Layout::Offset(_) => self.from_bits(bits, dtype, shape),
            _ => Err(Refusal::unsupported("a view whose elements do not lie one after the other")),
        }
    }

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

    /// Each of `tensors` in another element type: by one call, where the device has one.
    ///
    /// # Errors
    ///
    /// `Unsupported` where there is no such cast.
    fn cast_all(&self, tensors: &[&Self::Tensor], to: DType) -> Result<Vec<Self::Tensor>, Refusal> {
        tensors.iter().map(|tensor| self.cast(tensor, to)).collect()
    }

    /// `tensor` in another element type, with overflow to the largest finite number of the value's sign.
    ///
    /// # Errors
    ///
    /// `Unsupported` where there is no such cast.
    fn cast_saturating(&self, tensor: &Self::Tensor, to: DType) -> Result<Self::Tensor, Refusal> {
        Err(Refusal::unsupported("cast_saturating"))
    }

    /// `tensor` rounded by the random words of `key` ([`binade_core::stochastic`]), with overflow to infinity or NaN.
    ///
    /// # Errors
    ///
    /// `Unsupported` where there is no such cast.
    fn cast_stochastic(
        &self,
        tensor: &Self::Tensor,
        to: DType,
        key: Key,
    ) -> Result<Self::Tensor, Refusal> {
        Err(Refusal::unsupported("cast_stochastic"))
    }

    /// `tensor * scale`, in `f32`.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn scale(&self, tensor: &Self::Tensor, scale: ScaleState) -> Result<Self::Tensor, Refusal> {
        Err(Refusal::unsupported("scale"))
    }

    /// `tensor / scale`, in `f32`, for a gradient that belongs to no optimizer.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn unscale_tensor(
        &self,
        tensor: &Self::Tensor,
        scale: ScaleState,
    ) -> Result<Self::Tensor, Refusal> {
        Err(Refusal::unsupported("unscale_tensor"))
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

    /// The verdict on unscaled gradients after clipping that changes nothing, with the norm that clipping measured.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn norm(
        &self,
        grads: NamedGrads<Self::Tensor>,
        scale: ScaleState,
        norm: Norm,
    ) -> Result<Finding, Refusal> {
        Err(Refusal::unsupported("norm"))
    }

    /// Gradients divided by their scale and clipped, in `f32`, and the verdict.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn clip(
        &self,
        grads: NamedGrads<Self::Tensor>,
        scale: ScaleState,
        clip: Clip,
    ) -> Result<Unscaled<Self::Tensor>, Refusal> {
        Err(Refusal::unsupported("clip"))
    }

    /// Gradients divided by their scale, clipped as `first` says, if at all, and then group by group, in `f32`, and the
    /// verdict.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn clip_groups(
        &self,
        grads: NamedGrads<Self::Tensor>,
        scale: ScaleState,
        first: Option<Clip>,
        groups: &[ClipGroup],
    ) -> Result<Unscaled<Self::Tensor>, Refusal> {
        Err(Refusal::unsupported("clip_groups"))
    }

    /// The sum of a window's micro-batches, each unscaled by its own scale and left out where that is raised.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn accumulate(
        &self,
        window: Vec<MicroBatch<Self::Tensor>>,
    ) -> Result<NamedGrads<Self::Tensor>, Refusal> {
        Err(Refusal::unsupported("accumulate"))
    }

    /// What two passes found, joined on the device.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn merge(
        &self,
        into: MicroBatch<Self::Tensor>,
        from: MicroBatch<Self::Tensor>,
        join: Join,
    ) -> Result<Joined, Refusal> {
        Err(Refusal::unsupported("merge"))
    }

    /// A run from `start`, each iteration by what the one before left on the device, and read after the last.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn iterate(
        &self,
        rule: &LossScale,
        start: ScaleState,
        iterations: Vec<Iteration<Self::Tensor>>,
    ) -> Result<Course, Refusal> {
        Err(Refusal::unsupported("iterate"))
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

    /// Parameters after `turns` as [`train`](Self::train) has them, with masters kept as `store` says.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn train_by(
        &self,
        store: MasterStore,
        params: Vec<Named<Self::Tensor>>,
        turns: Vec<Turn<Self::Tensor>>,
    ) -> Result<Vec<Named<Self::Tensor>>, Refusal> {
        Err(Refusal::unsupported("train_by"))
    }

    /// The results of an operation of `binade-ops`, forward or backward, as [`OpInvocation`] orders them.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn compute(
        &self,
        op: &OpInvocation,
        operands: &[&Self::Tensor],
    ) -> Result<Vec<Self::Tensor>, Refusal> {
        Err(Refusal::unsupported("compute"))
    }

    /// Sparse gradients divided by their scale, whole and in `f32`, and what the pass found.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn sparse(
        &self,
        grads: Vec<Named<Coordinates>>,
        scale: ScaleState,
    ) -> Result<Unscaled<Self::Tensor>, Refusal> {
        Err(Refusal::unsupported("sparse"))
    }

    /// What comes of losses that are unscaled once, at the end.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn delayed(&self, window: Delayed<Self::Tensor>) -> Result<Collected<Self::Tensor>, Refusal> {
        Err(Refusal::unsupported("delayed"))
    }

    /// A run that records itself, or follows a recording.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn follow(&self, run: Led<Self::Tensor>) -> Result<Walked<Self::Tensor>, Refusal> {
        Err(Refusal::unsupported("follow"))
    }

    /// By loss, the outcome of an iteration in which each has a scale of its own.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn update_each(&self, losses: Losses<Self::Tensor>) -> Result<[Step; 2], Refusal> {
        Err(Refusal::unsupported("update_each"))
    }
}

/// Why a subject gave no result.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// It cannot do this: a skip.
    Unsupported(String),
    /// It says that what it was given is wrong: a failure, except in cases that give what is wrong.
    Rejected(ErrorKind, String),
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
            kind @ (ErrorKind::InvalidArgument | ErrorKind::Mismatch) => {
                Self::Rejected(kind, error.to_string())
            }
            kind => Self::Failed(format!("{kind:?}: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Of(ErrorKind);

    impl std::fmt::Display for Of {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("no")
        }
    }

    impl std::error::Error for Of {}

    impl Error for Of {
        fn kind(&self) -> ErrorKind {
            self.0
        }
    }

    #[test]
    fn an_error_is_a_skip_where_it_is_unsupported_rejected_where_the_caller_is_wrong_and_else_a_failure()
     {
        use ErrorKind::{DeviceLost, InvalidArgument, Mismatch, Other, OutOfMemory, Unsupported};
        assert_eq!(Refusal::from(Of(Unsupported)), Refusal::Unsupported("no".into()));
        for kind in [InvalidArgument, Mismatch] {
            assert_eq!(Refusal::from(Of(kind)), Refusal::Rejected(kind, "no".into()));
        }
        for kind in [DeviceLost, OutOfMemory, Other] {
            assert_eq!(Refusal::from(Of(kind)), Refusal::Failed(format!("{kind:?}: no")));
        }
    }
}
