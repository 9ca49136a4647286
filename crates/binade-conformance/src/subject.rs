//! The trait of a subject: the device or tensor that the kit tests.

use crate::{
    Arithmetic, Clip, Coordinates, DelayedResult, DelayedRun, Iteration, IterationFindings, Layout,
    LossPair, MergeResult, MicroBatch, OpInvocation, ReplayedRun, Result, RunResult, ScaleTrace,
    SubjectError, TrainStep, UnscaleResult, device,
};
use binade_core::{DType, FoundInf, Handle, Named, NamedGrads, stochastic::Key};
use binade_grad_scaler::{ClipGroup, GradOps, Loss, LossScale, MergeRule, Norm, ScaleState, Step};
use binade_master_weights::{MasterStore, MasterWeights};
use std::any::type_name;

/// Handle that trains parameters given by name; implemented for every handle that can.
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

/// Device or tensor under test, as the kit sees it.
///
/// Two functions are required: a tensor from bits, and bits from a tensor. With a [`handle`](Self::handle), scaling, clipping,
/// accumulation and training go through the traits that users call, so that the kit tests what a training loop uses. A device may
/// lack casts and operations: each is a line, and the cases of a method that is left out are skipped, counted and printed. The
/// methods below `compute` are for subjects that do something otherwise than their handle.
///
/// Bits are little-endian and row-major. Values would not do: a NaN's bits, and eight-bit formats, would be lost.
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
/// Every method returns [`SubjectError::Unsupported`] for what the subject lacks, and the device's errors. [`SubjectError`] is
/// made of any [`binade_core::Error`] by `?`.
#[expect(unused_variables, reason = "parameter names are documentation")]
#[expect(clippy::missing_errors_doc, reason = "the trait's page states them once for all methods")]
#[expect(clippy::wrong_self_convention, reason = "the subject is the device, not the tensor")]
pub trait Subject {
    /// Handle whose training traits are tested, and whose tensors the subject makes.
    type Handle: TrainingDevice<Tensor: 'static> + 'static;

    /// Returns the handle under test; without one, only bits, casts and operations run.
    fn handle(&self) -> Option<&Self::Handle> {
        None
    }

    /// Returns the device's name, as `BINADE_REQUIRE` lists it: that of the type, unless overridden.
    fn name(&self) -> &str {
        type_name::<Self>()
    }

    /// Returns the properties of its arithmetic, on which the kit's agreement depends: IEEE 754, unless overridden.
    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::IEEE
    }

    /// Makes a tensor of `shape` whose elements have these bits.
    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<TensorOf<Self>>;

    /// Makes the tensor of [`from_bits`](Self::from_bits) as a view of this layout. A vector load goes wrong where one begins in
    /// the middle of a buffer, and a walk through memory where its elements do not lie in their order.
    ///
    /// The provided method makes the tensor as always for [`Layout::Offset`], and has no other layout.
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
        Err(SubjectError::unsupported("cast"))
    }

    /// Returns each of `tensors` in another element type: by one call, where the device has one.
    fn cast_all(&self, tensors: &[&TensorOf<Self>], to: DType) -> Result<Vec<TensorOf<Self>>> {
        tensors.iter().map(|tensor| self.cast(tensor, to)).collect()
    }

    /// Returns `tensor` in another element type, with overflow to the largest finite number of the value's sign.
    fn cast_saturating(&self, tensor: &TensorOf<Self>, to: DType) -> Result<TensorOf<Self>> {
        Err(SubjectError::unsupported("cast_saturating"))
    }

    /// Returns `tensor` rounded by the random words of `key` ([`binade_core::stochastic`]), with overflow to infinity or NaN.
    fn cast_stochastic(
        &self,
        tensor: &TensorOf<Self>,
        to: DType,
        key: Key,
    ) -> Result<TensorOf<Self>> {
        Err(SubjectError::unsupported("cast_stochastic"))
    }

    /// Returns the results of an operation of `binade-ops`, as [`OpInvocation`] orders them. [`compute`](crate::compute) is all it
    /// takes where the handle has every operation.
    fn compute(
        &self,
        op: &OpInvocation,
        operands: &[&TensorOf<Self>],
    ) -> Result<Vec<TensorOf<Self>>> {
        Err(SubjectError::unsupported("compute"))
    }

    /// Returns `tensor * scale`, in `f32`, by [`Loss::scaled`].
    fn scale(&self, tensor: &TensorOf<Self>, scale: ScaleState) -> Result<TensorOf<Self>> {
        device::scale(device::of(self, "scale")?, tensor, scale)
    }

    /// Returns `tensor / scale`, in `f32`, for a gradient that belongs to no optimizer, by [`Loss::unscaled`].
    fn unscale_tensor(&self, tensor: &TensorOf<Self>, scale: ScaleState) -> Result<TensorOf<Self>> {
        device::unscale_tensor(device::of(self, "unscale_tensor")?, tensor, scale)
    }

    /// Returns gradients divided by their scale, in `f32`, and the finding of that pass.
    fn unscale(
        &self,
        grads: NamedGrads<TensorOf<Self>>,
        scale: ScaleState,
    ) -> Result<UnscaleResult<TensorOf<Self>>> {
        device::unscale(device::of(self, "unscale")?, grads, scale)
    }

    /// Returns the verdict on unscaled gradients after clipping that changes nothing, with the norm that clipping measured.
    fn norm(
        &self,
        grads: NamedGrads<TensorOf<Self>>,
        scale: ScaleState,
        norm: Norm,
    ) -> Result<FoundInf> {
        device::norm(device::of(self, "norm")?, grads, scale, norm)
    }

    /// Returns gradients divided by their scale and clipped, in `f32`, and the verdict.
    fn clip(
        &self,
        grads: NamedGrads<TensorOf<Self>>,
        scale: ScaleState,
        clip: Clip,
    ) -> Result<UnscaleResult<TensorOf<Self>>> {
        device::clip(device::of(self, "clip")?, grads, scale, Some(clip), None)
    }

    /// Returns gradients divided by their scale, clipped as `first` says, if at all, and then group by group, in `f32`, and the
    /// verdict.
    fn clip_groups(
        &self,
        grads: NamedGrads<TensorOf<Self>>,
        scale: ScaleState,
        first: Option<Clip>,
        groups: &[ClipGroup],
    ) -> Result<UnscaleResult<TensorOf<Self>>> {
        device::clip(device::of(self, "clip_groups")?, grads, scale, first, Some(groups))
    }

    /// Returns the sum of a window's micro-batches, each unscaled by its own scale and left out where that is raised.
    fn accumulate(
        &self,
        window: Vec<MicroBatch<TensorOf<Self>>>,
    ) -> Result<NamedGrads<TensorOf<Self>>> {
        device::accumulate(device::of(self, "accumulate")?, window)
    }

    /// Returns the findings of two passes, joined on the device.
    fn merge(
        &self,
        into: MicroBatch<TensorOf<Self>>,
        from: MicroBatch<TensorOf<Self>>,
        join: MergeRule,
    ) -> Result<MergeResult> {
        device::merge(device::of(self, "merge")?, into, from, join)
    }

    /// Runs iterations from `start`, each by what the one before left on the device, and reads after the last.
    fn iterate(
        &self,
        rule: &LossScale,
        start: ScaleState,
        iterations: Vec<Iteration<TensorOf<Self>>>,
    ) -> Result<ScaleTrace> {
        device::iterate(device::of(self, "iterate")?, rule, start, iterations)
    }

    /// Returns the scale after an iteration.
    fn update_scale(
        &self,
        rule: &LossScale,
        scale: ScaleState,
        found: &IterationFindings,
    ) -> Result<ScaleState> {
        device::update_scale(self, device::of(self, "update_scale")?, rule, scale, found)
    }

    /// Returns parameters after `steps`, which begin with fresh masters and moments.
    fn train(
        &self,
        params: Vec<Named<TensorOf<Self>>>,
        steps: Vec<TrainStep<TensorOf<Self>>>,
    ) -> Result<Vec<Named<TensorOf<Self>>>> {
        device::train(device::of(self, "train")?, MasterStore::Copy, params, steps)
    }

    /// Returns parameters after `steps` as [`train`](Self::train) does, with masters in this store.
    fn train_by(
        &self,
        store: MasterStore,
        params: Vec<Named<TensorOf<Self>>>,
        steps: Vec<TrainStep<TensorOf<Self>>>,
    ) -> Result<Vec<Named<TensorOf<Self>>>> {
        device::train(device::of(self, "train_by")?, store, params, steps)
    }

    /// Returns sparse gradients divided by their scale, whole and in `f32`, and the finding of that pass.
    fn sparse(
        &self,
        grads: Vec<Named<Coordinates>>,
        scale: ScaleState,
    ) -> Result<UnscaleResult<TensorOf<Self>>> {
        device::sparse(self, device::of(self, "sparse")?, grads, scale)
    }

    /// Runs losses whose gradients are unscaled once, at the end.
    fn delayed(&self, window: DelayedRun<TensorOf<Self>>) -> Result<DelayedResult<TensorOf<Self>>> {
        device::delayed(self, device::of(self, "delayed")?, window)
    }

    /// Trains, recording the scale after each update, or replays a recording if there is one.
    fn follow(&self, run: ReplayedRun<TensorOf<Self>>) -> Result<RunResult<TensorOf<Self>>> {
        device::follow(device::of(self, "follow")?, run)
    }

    /// Returns by loss the outcome of an iteration in which each loss has a scale of its own.
    fn update_each(&self, losses: LossPair<TensorOf<Self>>) -> Result<[Step; 2]> {
        device::update_each(device::of(self, "update_each")?, losses)
    }
}
