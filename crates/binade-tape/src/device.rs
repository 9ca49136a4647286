//! What a device must be able to do for a tape to run on it.

use binade_autocast::Autocast;
use binade_core::Handle;
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
