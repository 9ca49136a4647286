//! The handle by which a scaler and an optimizer drive a tape.

mod masters;
mod scaler;
mod snapshot;
mod store;

use crate::{Device, TapeError, Var};
use binade_core::{GradSet, Handle};

/// A device whose tensors are values on a tape.
///
/// `Scaler<Taped<D>>` scales a [`Var`] by a recorded product, so that `loss.backward()` gives scaled gradients; sets of
/// gradients, the scale, findings, parameters and masters are the device's own, and so an optimizer made for `D` fits.
///
/// ```
/// use binade_core::Optimizer;
/// use binade_grad_scaler::{Scaler, Step};
/// use binade_tape::{ScalingDevice, TapeError, Taped, Var};
///
/// fn step<D, O>(
///     scaler: &mut Scaler<Taped<D>>,
///     optimizer: &mut O,
///     loss: &Var<D>,
/// ) -> Result<Step, TapeError<D::Error>>
/// where
///     D: ScalingDevice,
///     O: Optimizer<D::Grads, D::Found, Error = D::Error>,
/// {
///     let grads = scaler.scale(loss)?.backward(Var::backward)?;
///     let step = grads.unscale()?.clip_norm(1.0)?.step(optimizer)?;
///     scaler.update(step)?.resolve()
/// }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Taped<D>(
    /// The device underneath.
    pub D,
);

impl<D: Device> Handle for Taped<D> {
    type Tensor = Var<D>;
    type Error = TapeError<D::Error>;
}

impl<D: Device + GradSet> GradSet for Taped<D> {
    type Params = D::Params;
    type Grads = D::Grads;
    type Found = D::Found;
}
