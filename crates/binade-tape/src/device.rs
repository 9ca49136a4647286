//! Traits that a device needs for a tape to run on it.

use binade_autocast::Autocast;
use binade_core::ops::{Add, Fill, Shaped};
use binade_core::{Handle, Named};
use binade_grad_scaler::{GradOps, Loss};

/// Device that a tape can run on: it casts, knows shapes, and can start and add up gradients.
///
/// Every handle with these traits implements it automatically. Each method of [`Var`](crate::Var) also requires the trait of its operation. Handles,
/// tensors and so tapes may be sent to other threads.
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

/// Device that a scaled training loop can run on, with a tape.
///
/// A [`Scaler`](binade_grad_scaler::Scaler) of the device scales a [`Var`](crate::Var) by a recorded product, so that its `backward` gives scaled
/// gradients. It is implemented automatically too.
///
/// # Examples
///
/// ```
/// use binade_core::Optimizer;
/// use binade_grad_scaler::{Scaler, Step};
/// use binade_tape::{ScalingDevice, TapeError, Var};
///
/// fn step<D, O>(
///     scaler: &mut Scaler<D>,
///     optimizer: &mut O,
///     loss: &Var<D>,
/// ) -> Result<Step, TapeError<D::Error>>
/// where
///     D: ScalingDevice,
///     O: Optimizer<D::Grads, D::Found, Error = D::Error>,
/// {
///     let grads = scaler.scale(loss)?.backward(Var::backward)?;
///     let step = grads.unscale()?.clip_norm(1.0)?.step(optimizer)?;
///     Ok(scaler.update(step)?.resolve()?)
/// }
/// ```
#[rustfmt::skip]
pub trait ScalingDevice:
    Device
    + GradOps<
        Tensor: Loss<Self, Error = <Self as Handle>::Error>,
        Scale: Send + Sync + 'static,
        Grads: From<Vec<Named<Option<<Self as Handle>::Tensor>>>>,
    >
{
}

#[rustfmt::skip]
impl<D> ScalingDevice for D where
    D: Device
    + GradOps<
        Tensor: Loss<Self, Error = <Self as Handle>::Error>,
        Scale: Send + Sync + 'static,
        Grads: From<Vec<Named<Option<<Self as Handle>::Tensor>>>>,
    >
{
}
