//! The kernels of training that the shared host code launches.

use crate::{BufferOf, Driver, Factors, Found, Gradients, Result, ScaledMaster, StepState, Tensor};
use binade_core::Named;
use binade_grad_scaler::{ClipGroup, GradScaler, Norm};

/// A driver with the kernels of training. Nothing here waits for the device.
pub trait Kernels: Driver + GradScaler<Grads = Gradients<Self>, Found = Found<Self>> {
    /// Tables of the step's kernels, and its launches.
    type StepState: StepState<Self>;

    /// Writes the values of `grads`, multiplied by all that they are owed and by `factors`, and brought within `limit`, into the
    /// `f32` tensors of `results` at their places.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::Error::Unsupported) for an element type without kernels; where the device fails.
    fn launch_materialise(
        &self,
        grads: &Gradients<Self>,
        results: &[Named<Option<Tensor<Self>>>],
        factors: Option<&Factors<'_, Self>>,
        limit: f32,
    ) -> Result<(), Self>;

    /// Adds `grads` to `sum`, whose entries are `f32`, and marks the entries that have begun; does neither where `found` is
    /// raised.
    ///
    /// # Errors
    ///
    /// As for [`launch_materialise`](Self::launch_materialise).
    fn launch_accumulate(
        &self,
        sum: &Gradients<Self>,
        grads: &Gradients<Self>,
        found: &BufferOf<Self>,
    ) -> Result<(), Self>;

    /// Multiplies the factor in `owed` by what brings its norm to `max`, and raises `verdict` where the norm is not finite.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    fn launch_clip(
        &self,
        verdict: &BufferOf<Self>,
        owed: &BufferOf<Self>,
        norm: Norm,
        max: f32,
    ) -> Result<(), Self>;

    /// Measures each group of `grads`, writes the groups' factors into `factors`, raises `verdict` where a norm is not finite,
    /// and returns the set multiplied by the factors.
    ///
    /// # Errors
    ///
    /// As for [`launch_materialise`](Self::launch_materialise).
    fn clipped_groups(
        &self,
        grads: &Gradients<Self>,
        groups: &[ClipGroup],
        factors: &Factors<'_, Self>,
        verdict: &BufferOf<Self>,
    ) -> Result<Gradients<Self>, Self>;

    /// Returns the master of these values, of any type, with `f16` elements and an exponent.
    ///
    /// # Errors
    ///
    /// Where the device fails or has no room.
    fn scaled_master(&self, values: &Tensor<Self>) -> Result<ScaledMaster<Self>, Self>;
}
