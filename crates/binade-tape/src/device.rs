//! What a device must be able to do for a tape to run on it.

use binade_autocast::Autocast;
use binade_core::{Handle, Named};
use binade_grad_scaler::GradOps;
use binade_ops::{Add, Fill, Shaped};

/// A device that a tape can run on: it casts, knows shapes, and can start and add up gradients.
///
/// Nobody implements it: a handle with the traits has it. Each method of [`Var`](crate::Var) asks for the trait of its
/// operation besides. Handles, tensors and so tapes may be sent to other threads.
#[rustfmt::skip]
pub trait Device:
    Handle<Tensor: Clone + Send + Sync + 'static>
    + Autocast + Shaped + Fill + Add
    + Clone + Send + Sync + 'static
{
}

#[rustfmt::skip]
impl<D> Device for D where
    D: Handle<Tensor: Clone + Send + Sync + 'static>
    + Autocast + Shaped + Fill + Add
    + Clone + Send + Sync + 'static
{
}

/// A device that a scaled training loop can run on, with a tape: what [`Taped`](crate::Taped) needs for a
/// [`Scaler`](binade_grad_scaler::Scaler).
///
/// Nobody implements it either.
#[rustfmt::skip]
pub trait ScalingDevice:
    Device
    + GradOps<Scale: Send + Sync + 'static, Grads: From<Vec<Named<Option<<Self as Handle>::Tensor>>>>>
{
}

#[rustfmt::skip]
impl<D> ScalingDevice for D where
    D: Device
    + GradOps<Scale: Send + Sync + 'static, Grads: From<Vec<Named<Option<<Self as Handle>::Tensor>>>>>
{
}
