//! The trait of a device that works on whole sets of unscaled gradients: clips, adds, saves.

use crate::{ClipGroup, GradScaler};
pub use binade_core::Norm;
use binade_core::{Named, NamedGrads, RawTensor, TensorSpec, TrainError};

/// Arithmetic on whole sets of unscaled gradients.
///
/// `clip_groups` is optional, and so are the three methods by which an open window is saved: a device that leaves them out
/// answers that they are `Unsupported`, before anything has changed.
///
/// # For implementers
///
/// * Norms are accumulated so that 64 M elements keep full `f32` accuracy and elements of 1e25 do not overflow.
/// * `clip_norm` multiplies by `max / norm`, rounded once to `f32`, where the norm exceeds `max`, and by nothing
///   otherwise: never by more than one. It records the norm in `verdict`, and raises it, as [`FoundInf::NORM`](binade_core::FoundInf::NORM) and without
///   counting an element, if the norm as `f32` is not finite.
/// * `clip_value` limits each element to `[-max, max]` and leaves NaN a NaN.
/// * A `max` that is negative, zero or NaN is `InvalidArgument`.
/// * `accumulate` sums in `f32`, and adds nothing where `found` is raised: an infinity never enters a sum. A parameter that
///   has a gradient in one set only keeps that one; one that has it in bad sets only has none, and a step leaves it alone.
/// * A group's norm is that of its own parameters' unscaled gradients, as earlier clips have left them, accumulated as
///   `clip_norm` accumulates. A parameter without a gradient adds nothing, and a group without any has a norm of 0.
/// * Each gradient is multiplied, in `f32`, by its group's `max / norm`, rounded once to `f32`, where the norm exceeds `max`.
///   A group within its limit and a parameter that no group names keep every bit.
/// * A group's norm that is not finite as `f32` raises `verdict`, as [`ClipGroup::norm_name`] and without counting an
///   element. What was raised before stays as it was told, and of several groups the first one is named. The norm that
///   `clip_norm` has recorded stays.
/// * A group's `max` that is negative, zero or NaN is `InvalidArgument`; a name that stands twice in the groups, and one that
///   the set does not list, is a `Mismatch` that names it. Nothing has changed then.
/// * `clip_groups` reads nothing to the host: groups are host knowledge, norms and factors are not.
/// * What `save_grads` gives is `f32`, unscaled, and so is what `load_grads` makes of it: the same bits.
/// * `load_grads` never fails for what has the right form; `Scaler::reopen` holds it to `grad_specs` first.
/// * A sparse gradient is saved whole, beside the rows that it has; `load_rows` makes it sparse again, with the same bits.
/// * `save_grads` and `save_rows` wait for the device.
#[expect(unused_variables, reason = "parameter names are documentation")]
pub trait GradOps: GradScaler {
    /// Scales `grads` down so that their global norm is at most `max`.
    ///
    /// # Errors
    ///
    /// When the device fails, or `max` is not a positive number.
    fn clip_norm(
        &self,
        grads: &mut Self::Grads,
        norm: Norm,
        max: f32,
        verdict: &mut Self::Found,
    ) -> Result<(), Self::Error>;

    /// Limits every element to `[-max, max]`.
    ///
    /// # Errors
    ///
    /// When the device fails, or `max` is not a positive number.
    fn clip_value(&self, grads: &mut Self::Grads, max: f32) -> Result<(), Self::Error>;

    /// `sum + grads`, or `sum` where `found` is raised. Without a `sum` it returns `grads` in `f32`, or, if `found` is raised, the same parameters
    /// without any gradient, so that the order of good and bad sets does not matter.
    ///
    /// # Errors
    ///
    /// When the device fails, or the two sets differ in names or lengths.
    fn accumulate(
        &self,
        sum: Option<Self::Grads>,
        grads: Self::Grads,
        found: &Self::Found,
    ) -> Result<Self::Grads, Self::Error>;

    /// Scales each group's gradients down so that its norm is at most its limit. [`ClipGroup::places`] assigns gradients to groups, and refuses
    /// invalid ones. Optional.
    ///
    /// # Errors
    ///
    /// When the device fails, a limit is not a positive number, a parameter is named twice, or a name is not in the set.
    fn clip_groups(
        &self,
        grads: &mut Self::Grads,
        groups: &[ClipGroup],
        verdict: &mut Self::Found,
    ) -> Result<(), Self::Error> {
        Err(self.train_error(TrainError::unsupported::<Self>("GradOps::clip_groups")))
    }

    /// The form that each parameter's gradient has in a window's sum: the parameter's shape, in `f32`. Optional.
    ///
    /// # Errors
    ///
    /// When the device fails.
    fn grad_specs(&self, params: &Self::Params) -> Result<Vec<Named<TensorSpec>>, Self::Error> {
        Err(self.train_error(TrainError::unsupported::<Self>("GradOps::grad_forms")))
    }

    /// The gradients of a window's sum, in the set's order. Optional.
    ///
    /// # Errors
    ///
    /// When the device fails, or refuses to be read.
    fn save_grads(&self, grads: &Self::Grads) -> Result<NamedGrads<RawTensor>, Self::Error> {
        Err(self.train_error(TrainError::unsupported::<Self>("GradOps::save_grads")))
    }

    /// Returns the set that `save_grads` saved. Optional.
    ///
    /// # Errors
    ///
    /// When the device fails.
    fn load_grads(
        &self,
        params: &Self::Params,
        saved: &NamedGrads<RawTensor>,
    ) -> Result<Self::Grads, Self::Error> {
        Err(self.train_error(TrainError::unsupported::<Self>("GradOps::load_grads")))
    }

    /// Returns the rows of each sparse gradient of a window's sum, in ascending order; none, as provided, for a device without sparse
    /// gradients.
    ///
    /// # Errors
    ///
    /// When the device fails, or refuses to be read.
    fn save_rows(&self, grads: &Self::Grads) -> Result<Vec<Named<Vec<u64>>>, Self::Error> {
        Ok(Vec::new())
    }

    /// Returns a set that [`load_grads`](Self::load_grads) made, with the gradients sparse that have `rows`. Optional.
    ///
    /// # Errors
    ///
    /// When the device fails; `Unsupported`, as provided, if there are rows.
    fn load_rows(
        &self,
        grads: Self::Grads,
        rows: &[Named<Vec<u64>>],
    ) -> Result<Self::Grads, Self::Error> {
        if rows.is_empty() {
            return Ok(grads);
        }
        Err(self.train_error(TrainError::unsupported::<Self>("GradOps::load_rows")))
    }
}

// Holds the traits to being object safe.
#[rustfmt::skip]
const _: Option<&dyn GradOps<Error = std::convert::Infallible, Scale = (), Found = (), Tensor = (), Params = (), Grads = ()>> = None;
