//! Trait of a subject: the device or tensor that the kit tests.

use crate::{
    Arithmetic, Layout, OpInvocation, Result, SetCall, SetResult, SparseResult, SparseRun,
    SubjectError,
};
use binade_core::{DType, Handle, Named, NamedGrads, stochastic::Key};
use binade_grad_scaler::{GradOps, Loss};
use binade_master_weights::MasterWeights;
use std::any::type_name;

/// Handle that trains named parameters; implemented for every handle with the needed traits.
pub trait TrainingDevice:
    Clone
    + GradOps<Tensor: Loss<Self>, Grads: From<NamedGrads<<Self as Handle>::Tensor>>>
    + MasterWeights<Params = Vec<Named<<Self as Handle>::Tensor>>>
{
}

impl<D> TrainingDevice for D where
    D: Clone
        + GradOps<Tensor: Loss<D>, Grads: From<NamedGrads<<D as Handle>::Tensor>>>
        + MasterWeights<Params = Vec<Named<<D as Handle>::Tensor>>>
{
}

/// Tensor of a subject's handle.
pub type TensorOf<S> = <<S as Subject>::Handle as Handle>::Tensor;

/// Device or tensor under test.
///
/// Two methods are required: [`from_bits`](Self::from_bits) and [`to_bits`](Self::to_bits). With a [`handle`](Self::handle), the kit scales, clips,
/// accumulates and trains by the traits that a training loop calls. Casts and operations are optional, and each takes a line. The cases of a missing
/// method are skipped, counted and printed.
///
/// Bits are little-endian and row-major. Values instead of bits would lose the bits of NaNs, and eight-bit formats.
///
/// # For implementers
///
/// * `to_bits` gives the bits that `from_bits` was given, those of every NaN too.
/// * `view` gives the tensor that `from_bits` gives, however its elements lie in their buffer.
/// * What it cannot do is `Unsupported`, which is a skip; what it was given and is wrong, `Rejected`; all else, `Failed`.
/// * The handle takes the tensors that `from_bits` makes, and gives those that `to_bits` takes.
///
/// # Errors
///
/// Every method returns [`SubjectError::Unsupported`] for what the subject lacks, and the device's errors. `?` converts any [`binade_core::Error`] to
/// a [`SubjectError`].
#[expect(unused_variables, reason = "parameter names are documentation")]
#[expect(clippy::missing_errors_doc, reason = "the trait's page states them once for all methods")]
#[expect(clippy::wrong_self_convention, reason = "the subject is the device, not the tensor")]
pub trait Subject {
    /// Handle whose training traits are tested; the subject makes its tensors.
    type Handle: TrainingDevice<Tensor: 'static> + 'static;

    /// Returns the handle under test. Without a handle, only cases of bits, casts and operations run.
    fn handle(&self) -> Option<&Self::Handle> {
        None
    }

    /// Returns the device's name, by which `BINADE_REQUIRE` lists it: by default the name of the type.
    fn name(&self) -> &str {
        type_name::<Self>()
    }

    /// Returns the properties of its arithmetic, on which the kit's agreement depends: by default those of IEEE 754.
    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::IEEE
    }

    /// Makes a tensor of `shape` whose elements have these bits.
    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<TensorOf<Self>>;

    /// Makes the tensor of [`from_bits`](Self::from_bits) as a view of this layout. Views in the middle of a buffer find wrong vector loads; views
    /// with elements out of order find loops that walk through memory.
    ///
    /// The provided method ignores the offset of [`Layout::Offset`], and supports no other layout.
    fn view(
        &self,
        bits: &[u8],
        dtype: DType,
        shape: &[usize],
        layout: Layout,
    ) -> Result<TensorOf<Self>> {
        match layout {
            Layout::Offset(_) => self.from_bits(bits, dtype, shape),
            _ => Err(SubjectError::unsupported(
                "a view whose elements do not lie one after the other",
            )),
        }
    }

    /// Returns the bits of a tensor's elements.
    fn to_bits(&self, tensor: &TensorOf<Self>) -> Result<Vec<u8>>;

    /// Returns `tensor` in another element type.
    fn cast(&self, tensor: &TensorOf<Self>, to: DType) -> Result<TensorOf<Self>> {
        Err(SubjectError::unsupported("`Subject::cast`"))
    }

    /// Returns `tensor` in another element type. Overflow saturates to the largest finite number of the value's sign.
    fn cast_saturating(&self, tensor: &TensorOf<Self>, to: DType) -> Result<TensorOf<Self>> {
        Err(SubjectError::unsupported("`Subject::cast_saturating`"))
    }

    /// Returns `tensor` rounded by the random words of `key` ([`binade_core::stochastic`]), with overflow to infinity or NaN.
    fn cast_stochastic(
        &self,
        tensor: &TensorOf<Self>,
        to: DType,
        key: Key,
    ) -> Result<TensorOf<Self>> {
        Err(SubjectError::unsupported("`Subject::cast_stochastic`"))
    }

    /// Returns the result of a call of [`MultiTensor`](binade_core::MultiTensor) on one set of tensors, or on two. If the handle has the trait, call
    /// [`multi_tensor`](crate::multi_tensor).
    fn multi_tensor(
        &self,
        call: &SetCall,
        x: &[Named<TensorOf<Self>>],
        y: &[Named<TensorOf<Self>>],
    ) -> Result<SetResult<TensorOf<Self>>> {
        Err(SubjectError::unsupported("`Subject::multi_tensor`"))
    }

    /// Returns the result of steps by sparse gradients. If the handle has [`SparseEmbedding`](crate::ops::SparseEmbedding), call
    /// [`sparse`](crate::sparse).
    fn sparse(&self, run: SparseRun<TensorOf<Self>>) -> Result<SparseResult<TensorOf<Self>>> {
        Err(SubjectError::unsupported("`Subject::sparse`"))
    }

    /// Returns the results of an operation of `binade_core::ops`, in the order of [`OpInvocation`]. If the handle has every operation, call
    /// [`compute`](crate::compute).
    fn compute(
        &self,
        op: &OpInvocation,
        operands: &[&TensorOf<Self>],
    ) -> Result<Vec<TensorOf<Self>>> {
        Err(SubjectError::unsupported("`Subject::compute`"))
    }
}
