//! Kernels of training that the shared host code launches.

use crate::{
    BufferOf, Driver, Found, Gradients, GroupClip, Materialise, Memory, Readers, Report, Result,
    Scale, ScaledMaster, StepState, Tensor,
};
use binade_core::{SparseGradient, SparseRows, TrainError};
use binade_grad_scaler::{GradScaler, LossScale, MergeRule, Norm};

/// Elements of a sparse gradient, and the places of its rows.
pub type SparseParts<'g, D> = (&'g Tensor<D>, &'g SparseRows<Tensor<D>>);

/// Returns the error of a device without kernels for sparse gradients.
pub(crate) fn no_sparse<D: Driver>() -> D::Error {
    TrainError::unsupported::<D>("SparseEmbedding").into()
}

/// Driver with the kernels of training. No method waits for the device.
///
/// Every method fails where the device does, and with [`Unsupported`](crate::Error::Unsupported) for an element type without
/// kernels.
#[expect(clippy::missing_errors_doc, reason = "said of all of them above")]
pub trait Kernels:
    Driver + GradScaler<Grads = Gradients<Self>, Found = Found<Self>, Scale = Scale<Self>>
{
    /// Reports of steps.
    type Report: Report<Self>;

    /// The readers of a scale.
    type Readers: Readers<<Self::Memory as Memory>::State>;

    /// Tables of the step's kernels, and its launches.
    type StepState: StepState<Self>;

    /// True if a step takes sparse gradients.
    const STEPS_ROWS: bool = false;

    /// False if the norms kernel takes only one factor, so that gradients must have no pending factors.
    const MEASURES_OWED: bool;

    /// Returns `tensor`, in `f32`, times the scale in `scale` or times its inverse.
    fn run_scale(
        &self,
        tensor: &Tensor<Self>,
        scale: &BufferOf<Self>,
        is_inverse: bool,
    ) -> Result<Tensor<Self>, Self>;

    /// Updates a scale by a rule, and sends a report. The first `parts` found-inf results are of gradients, the others of verdicts.
    fn run_update(
        &self,
        scale: &mut Scale<Self>,
        found: &[&Found<Self>],
        parts: usize,
        rule: &LossScale,
    ) -> Result<(), Self>;

    /// Checks every gradient before and after multiplication by the inverse of `scale`. Returns the found-inf result and the set's pending factors.
    fn run_unscale(
        &self,
        grads: &Gradients<Self>,
        scale: &BufferOf<Self>,
    ) -> Result<[BufferOf<Self>; 2], Self>;

    /// Joins the found-inf result `from` to `into`.
    fn run_merge(
        &self,
        into: &BufferOf<Self>,
        from: &BufferOf<Self>,
        join: MergeRule,
    ) -> Result<(), Self>;

    /// Writes the values of gradients, with their pending factors applied.
    fn run_materialise(&self, pass: &Materialise<'_, Self>) -> Result<(), Self>;

    /// Adds `grads` to `sum`, whose entries are `f32`, and marks the entries that have begun. It does neither if `found` is raised.
    fn run_sum(
        &self,
        sum: &Gradients<Self>,
        grads: &Gradients<Self>,
        found: &BufferOf<Self>,
    ) -> Result<(), Self>;

    /// Multiplies the factor in `owed` by the clip factor for the norm `max`, and raises `verdict` if the norm is not finite.
    fn run_clip(
        &self,
        verdict: &BufferOf<Self>,
        owed: &BufferOf<Self>,
        norm: Norm,
        max: f32,
    ) -> Result<(), Self>;

    /// Measures each group of gradients, writes the groups' factors, and raises the verdict where a norm is not finite.
    fn run_group_norms(&self, clip: &GroupClip<'_, Self>) -> Result<(), Self>;

    /// Returns the dense gradient of a sparse one, both in `f32`. Optional.
    fn run_whole(
        &self,
        _values: &Tensor<Self>,
        _rows: &SparseRows<Tensor<Self>>,
    ) -> Result<Tensor<Self>, Self> {
        Err(no_sparse::<Self>())
    }

    /// Returns the rows of a dense gradient. Optional.
    fn run_rows(
        &self,
        _whole: &Tensor<Self>,
        _rows: &SparseRows<Tensor<Self>>,
    ) -> Result<Tensor<Self>, Self> {
        Err(no_sparse::<Self>())
    }

    /// Returns the sum of two sparse gradients in `f32`, or `sum` if `found` is raised. The result has the row places of both, one for each index of
    /// a window. Optional.
    fn run_join(
        &self,
        _sum: Option<SparseParts<'_, Self>>,
        _grad: SparseParts<'_, Self>,
        _found: &BufferOf<Self>,
    ) -> Result<SparseGradient<Tensor<Self>>, Self> {
        Err(no_sparse::<Self>())
    }

    /// Returns the master of these values, of any type, with `f16` elements and an exponent.
    fn scaled_master(&self, values: &Tensor<Self>) -> Result<ScaledMaster<Self>, Self>;
}
