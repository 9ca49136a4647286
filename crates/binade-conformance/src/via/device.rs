//! A device as a subject: tensors from bits and back, and the rest by its traits.

use crate::{Arithmetic, Layout, OpInvocation, Refusal};
use binade_core::{DType, Handle, Named, NamedGrads, stochastic::Key};
use binade_grad_scaler::{GradOps, Loss};
use binade_master_weights::MasterWeights;
use std::any::type_name;

/// A handle that trains parameters given by name; implemented for whatever can.
pub trait Trains:
    Clone
    + GradOps<Tensor: Loss<Self>, Grads: From<NamedGrads<<Self as Handle>::Tensor>>>
    + MasterWeights<Params = Vec<Named<<Self as Handle>::Tensor>>>
{
}

impl<D> Trains for D where
    D: Clone
        + GradOps<Tensor: Loss<D>, Grads: From<NamedGrads<<D as Handle>::Tensor>>>
        + MasterWeights<Params = Vec<Named<<D as Handle>::Tensor>>>
{
}

/// The tensor of a subject's handle.
type TensorOf<S> = <<S as Device>::Handle as Handle>::Tensor;

/// What a [`Subject`](crate::Subject) over a device's traits has to say itself: who implements this is one.
///
/// Scaling, clipping, accumulation and training go through the handle. What stands below `to_bits` a device may lack: each
/// is a line, and what is left out is skipped.
///
/// # For implementers
///
/// * The handle takes the tensors that `from_bits` makes, and gives those that `to_bits` takes.
#[expect(unused_variables, reason = "parameter names are documentation")]
pub trait Device {
    /// The handle.
    type Handle: Trains<Tensor: 'static> + 'static;

    /// The device under test.
    fn handle(&self) -> &Self::Handle;

    /// See [`Subject::name`](crate::Subject::name). The subject's type unless it says otherwise.
    fn name(&self) -> &str {
        type_name::<Self>()
    }

    /// See [`Subject::arithmetic`](crate::Subject::arithmetic). That of IEEE 754 unless it says otherwise.
    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::IEEE
    }

    /// See [`Subject::from_bits`](crate::Subject::from_bits).
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
    ) -> Result<TensorOf<Self>, Refusal>;

    /// See [`Subject::view`](crate::Subject::view).
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
    ) -> Result<TensorOf<Self>, Refusal> {
        match layout {
            Layout::Offset(_) => self.from_bits(bits, dtype, shape),
            _ => Err(Refusal::unsupported("a view whose elements do not lie one after the other")),
        }
    }

    /// See [`Subject::to_bits`](crate::Subject::to_bits).
    ///
    /// # Errors
    ///
    /// When the device fails.
    fn to_bits(&self, tensor: &TensorOf<Self>) -> Result<Vec<u8>, Refusal>;

    /// See [`Subject::cast`](crate::Subject::cast).
    ///
    /// # Errors
    ///
    /// `Unsupported` where there is no such cast.
    fn cast(&self, tensor: &TensorOf<Self>, to: DType) -> Result<TensorOf<Self>, Refusal> {
        Err(Refusal::unsupported("cast"))
    }

    /// See [`Subject::cast_all`](crate::Subject::cast_all).
    ///
    /// # Errors
    ///
    /// `Unsupported` where there is no such cast.
    fn cast_all(
        &self,
        tensors: &[&TensorOf<Self>],
        to: DType,
    ) -> Result<Vec<TensorOf<Self>>, Refusal> {
        tensors.iter().map(|tensor| self.cast(tensor, to)).collect()
    }

    /// See [`Subject::cast_saturating`](crate::Subject::cast_saturating).
    ///
    /// # Errors
    ///
    /// `Unsupported` where there is no such cast.
    fn cast_saturating(
        &self,
        tensor: &TensorOf<Self>,
        to: DType,
    ) -> Result<TensorOf<Self>, Refusal> {
        Err(Refusal::unsupported("cast_saturating"))
    }

    /// See [`Subject::cast_stochastic`](crate::Subject::cast_stochastic).
    ///
    /// # Errors
    ///
    /// `Unsupported` where there is no such cast.
    fn cast_stochastic(
        &self,
        tensor: &TensorOf<Self>,
        to: DType,
        key: Key,
    ) -> Result<TensorOf<Self>, Refusal> {
        Err(Refusal::unsupported("cast_stochastic"))
    }

    /// See [`Subject::compute`](crate::Subject::compute); [`via::compute`](super::compute) is all it takes where the handle
    /// has every operation.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot.
    fn compute(
        &self,
        op: &OpInvocation,
        operands: &[&TensorOf<Self>],
    ) -> Result<Vec<TensorOf<Self>>, Refusal> {
        Err(Refusal::unsupported("compute"))
    }
}
