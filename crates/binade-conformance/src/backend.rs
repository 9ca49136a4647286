//! A subject as the cases see it: its tensors, and training by way of its handle's traits, which users call.

use crate::{
    Arithmetic, Clip, Coordinates, DelayedResult, DelayedRun, Iteration, IterationFindings, Layout,
    LossPair, MergeResult, MicroBatch, OpInvocation, ReplayedRun, Result, RunResult, ScaleTrace,
    Subject, TrainStep, TrainingDevice, UnscaleResult, device,
};
use binade_core::{DType, FoundInf, Handle, Named, NamedGrads, stochastic::Key};
use binade_grad_scaler::{ClipGroup, LossScale, MergeRule, Norm, ScaleState, Step};
use binade_master_weights::MasterStore;

/// Tensor of a backend's handle.
pub(crate) type Tensor<S> = <<S as Backend>::Handle as Handle>::Tensor;

/// Gradients by parameter, and parameters, of a backend.
pub(crate) type Grads<S> = NamedGrads<Tensor<S>>;
pub(crate) type Params<S> = Vec<Named<Tensor<S>>>;

/// Methods that the cases call. A [`Subject`] gives the first ones, of the same names; the kit's own tests do single ones otherwise.
pub(crate) trait Backend {
    type Handle: TrainingDevice<Tensor: 'static> + 'static;

    fn handle(&self) -> Option<&Self::Handle>;
    fn name(&self) -> &str;
    fn arithmetic(&self) -> Arithmetic;
    fn from_bits(&self, bits: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor<Self>>;
    fn view(
        &self,
        bits: &[u8],
        dtype: DType,
        shape: &[usize],
        layout: Layout,
    ) -> Result<Tensor<Self>>;
    fn to_bits(&self, tensor: &Tensor<Self>) -> Result<Vec<u8>>;
    fn cast(&self, tensor: &Tensor<Self>, to: DType) -> Result<Tensor<Self>>;
    fn cast_all(&self, tensors: &[&Tensor<Self>], to: DType) -> Result<Vec<Tensor<Self>>>;
    fn cast_saturating(&self, tensor: &Tensor<Self>, to: DType) -> Result<Tensor<Self>>;
    fn cast_stochastic(&self, tensor: &Tensor<Self>, to: DType, key: Key) -> Result<Tensor<Self>>;
    fn compute(&self, op: &OpInvocation, operands: &[&Tensor<Self>]) -> Result<Vec<Tensor<Self>>>;

    /// Returns `tensor * scale`, in `f32`, by [`Loss::scaled`].
    fn scale(&self, tensor: &Tensor<Self>, scale: ScaleState) -> Result<Tensor<Self>> {
        device::scale(device::of(self, "scale")?, tensor, scale)
    }

    /// Returns `tensor / scale`, in `f32`, for a gradient that belongs to no optimizer, by [`Loss::unscaled`].
    fn unscale_tensor(&self, tensor: &Tensor<Self>, scale: ScaleState) -> Result<Tensor<Self>> {
        device::unscale_tensor(device::of(self, "unscale_tensor")?, tensor, scale)
    }

    /// Returns gradients divided by their scale, in `f32`, and the finding of that pass.
    fn unscale(
        &self,
        grads: Grads<Self>,
        scale: ScaleState,
    ) -> Result<UnscaleResult<Tensor<Self>>> {
        device::unscale(device::of(self, "unscale")?, grads, scale)
    }

    /// Returns the verdict on unscaled gradients after clipping that changes nothing, with the norm that clipping measured.
    fn norm(&self, grads: Grads<Self>, scale: ScaleState, norm: Norm) -> Result<FoundInf> {
        device::norm(device::of(self, "norm")?, grads, scale, norm)
    }

    /// Returns gradients divided by their scale and clipped, in `f32`, and the verdict.
    fn clip(
        &self,
        grads: Grads<Self>,
        scale: ScaleState,
        clip: Clip,
    ) -> Result<UnscaleResult<Tensor<Self>>> {
        device::clip(device::of(self, "clip")?, grads, scale, Some(clip), None)
    }

    /// Returns gradients divided by their scale, clipped as `first` says, if at all, and then group by group, in `f32`, and the
    /// verdict.
    fn clip_groups(
        &self,
        grads: Grads<Self>,
        scale: ScaleState,
        first: Option<Clip>,
        groups: &[ClipGroup],
    ) -> Result<UnscaleResult<Tensor<Self>>> {
        device::clip(device::of(self, "clip_groups")?, grads, scale, first, Some(groups))
    }

    /// Returns the sum of a window's micro-batches, each unscaled by its own scale and left out where that is raised.
    fn accumulate(&self, window: Vec<MicroBatch<Tensor<Self>>>) -> Result<Grads<Self>> {
        device::accumulate(device::of(self, "accumulate")?, window)
    }

    /// Returns the findings of two passes, joined on the device.
    fn merge(
        &self,
        into: MicroBatch<Tensor<Self>>,
        from: MicroBatch<Tensor<Self>>,
        join: MergeRule,
    ) -> Result<MergeResult> {
        device::merge(device::of(self, "merge")?, into, from, join)
    }

    /// Runs iterations from `start`, each by what the one before left on the device, and reads after the last.
    fn iterate(
        &self,
        rule: &LossScale,
        start: ScaleState,
        iterations: Vec<Iteration<Tensor<Self>>>,
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
        params: Params<Self>,
        steps: Vec<TrainStep<Tensor<Self>>>,
    ) -> Result<Params<Self>> {
        device::train(device::of(self, "train")?, MasterStore::Copy, params, steps)
    }

    /// Returns parameters after `steps` as [`train`](Self::train) does, with masters in this store.
    fn train_by(
        &self,
        store: MasterStore,
        params: Params<Self>,
        steps: Vec<TrainStep<Tensor<Self>>>,
    ) -> Result<Params<Self>> {
        device::train(device::of(self, "train_by")?, store, params, steps)
    }

    /// Returns sparse gradients divided by their scale, whole and in `f32`, and the finding of that pass.
    fn sparse(
        &self,
        grads: Vec<Named<Coordinates>>,
        scale: ScaleState,
    ) -> Result<UnscaleResult<Tensor<Self>>> {
        device::sparse(self, device::of(self, "sparse")?, grads, scale)
    }

    /// Runs losses whose gradients are unscaled once, at the end.
    fn delayed(&self, window: DelayedRun<Tensor<Self>>) -> Result<DelayedResult<Tensor<Self>>> {
        device::delayed(self, device::of(self, "delayed")?, window)
    }

    /// Trains, recording the scale after each update, or replays a recording if there is one.
    fn follow(&self, run: ReplayedRun<Tensor<Self>>) -> Result<RunResult<Tensor<Self>>> {
        device::follow(device::of(self, "follow")?, run)
    }

    /// Returns by loss the outcome of an iteration in which each loss has a scale of its own.
    fn update_each(&self, losses: LossPair<Tensor<Self>>) -> Result<[Step; 2]> {
        device::update_each(device::of(self, "update_each")?, losses)
    }
}

/// Forwards each method to the subject's.
macro_rules! forward {
    ($($method:ident($($given:ident: $of:ty),*) -> $gives:ty;)*) => {
        impl<S: Subject> Backend for S {
            type Handle = S::Handle;

            $(fn $method(&self, $($given: $of),*) -> $gives {
                Subject::$method(self, $($given),*)
            })*
        }
    };
}

forward! {
    handle() -> Option<&S::Handle>;
    name() -> &str;
    arithmetic() -> Arithmetic;
    from_bits(bits: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor<S>>;
    view(bits: &[u8], dtype: DType, shape: &[usize], layout: Layout) -> Result<Tensor<S>>;
    to_bits(tensor: &Tensor<S>) -> Result<Vec<u8>>;
    cast(tensor: &Tensor<S>, to: DType) -> Result<Tensor<S>>;
    cast_all(tensors: &[&Tensor<S>], to: DType) -> Result<Vec<Tensor<S>>>;
    cast_saturating(tensor: &Tensor<S>, to: DType) -> Result<Tensor<S>>;
    cast_stochastic(tensor: &Tensor<S>, to: DType, key: Key) -> Result<Tensor<S>>;
    compute(op: &OpInvocation, operands: &[&Tensor<S>]) -> Result<Vec<Tensor<S>>>;
}
