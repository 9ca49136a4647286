//! A subject as the cases see it: its tensors, and training by the traits of its handle, which users call.

use crate::{
    Arithmetic, Clip, Iteration, IterationFindings, Layout, MergeResult, MicroBatch, OpInvocation,
    Result, ScaleTrace, SetCall, SetResult, SparseResult, SparseRun, Subject, SubjectError,
    TrainStep, TrainingDevice, UnscaleResult, device,
};
use binade_core::{DType, FoundInf, Handle, Named, NamedGrads, stochastic::Key};
use binade_grad_scaler::{
    ClipGroup, Loss as _, LossScale, MergeRule, Norm, ScaleState, ScaleStore as _,
};
use binade_master_weights::MasterStore;

/// Tensor of a backend's handle.
pub(crate) type Tensor<S> = <<S as Backend>::Handle as Handle>::Tensor;

/// Gradients by parameter of a backend.
pub(crate) type Grads<S> = NamedGrads<Tensor<S>>;
pub(crate) type Params<S> = Vec<Named<Tensor<S>>>;

type Unscaled<S> = UnscaleResult<Tensor<S>>;

/// Declares [`Backend`]: methods of a [`Subject`], and methods by the traits of its handle, which users call.
macro_rules! backend {
    (
        given { $($given:ident($($a:ident: $of_a:ty),*) -> $gives:ty;)* }
        by_handle { $(
            $(#[$doc:meta])*
            $method:ident($($b:ident: $of_b:ty),*) -> $makes:ty = |$subject:pat_param, $device:pat_param| $body:expr;
        )* }
    ) => {
        /// Methods that the cases call. The kit's own tests override single ones.
        #[expect(clippy::wrong_self_convention, reason = "the subject is the device, not the tensor")]
        pub(crate) trait Backend {
            type Handle: TrainingDevice<Tensor: 'static> + 'static;

            $(fn $given(&self, $($a: $of_a),*) -> $gives;)*

            $($(#[$doc])* fn $method(&self, $($b: $of_b),*) -> Result<$makes> {
                let missing = || SubjectError::unsupported("`Subject::handle`");
                let ($subject, $device) = (self, self.handle().ok_or_else(missing)?);
                $body
            })*
        }

        impl<S: Subject> Backend for S {
            type Handle = S::Handle;

            $(fn $given(&self, $($a: $of_a),*) -> $gives {
                Subject::$given(self, $($a),*)
            })*
        }
    };
}

backend! { given {
    handle() -> Option<&Self::Handle>;
    name() -> &str;
    arithmetic() -> Arithmetic;
    from_bits(bits: &[u8], dtype: DType, shape: &[usize]) -> Result<Tensor<Self>>;
    view(bits: &[u8], dtype: DType, shape: &[usize], layout: Layout) -> Result<Tensor<Self>>;
    to_bits(tensor: &Tensor<Self>) -> Result<Vec<u8>>;
    cast(tensor: &Tensor<Self>, to: DType) -> Result<Tensor<Self>>;
    cast_saturating(tensor: &Tensor<Self>, to: DType) -> Result<Tensor<Self>>;
    cast_stochastic(tensor: &Tensor<Self>, to: DType, key: Key) -> Result<Tensor<Self>>;
    multi_tensor(call: &SetCall, x: &[Named<Tensor<Self>>], y: &[Named<Tensor<Self>>]) -> Result<SetResult<Tensor<Self>>>;
    sparse(run: SparseRun<Tensor<Self>>) -> Result<SparseResult<Tensor<Self>>>;
    compute(op: &OpInvocation, operands: &[&Tensor<Self>]) -> Result<Vec<Tensor<Self>>>;
} by_handle {
    /// Returns `tensor * scale`, in `f32`.
    scale(tensor: &Tensor<Self>, scale: ScaleState) -> Tensor<Self> =
        |_, device| Ok(tensor.scaled(device, &device.upload_state(scale)?)?);
    /// Returns `tensor / scale`, in `f32`, for a gradient that belongs to no optimizer.
    unscale_tensor(tensor: &Tensor<Self>, scale: ScaleState) -> Tensor<Self> =
        |_, device| Ok(tensor.unscaled(device, &device.upload_state(scale)?)?);
    /// Returns gradients divided by their scale, in `f32`, and the found-inf result of that pass.
    unscale(grads: Grads<Self>, scale: ScaleState) -> Unscaled<Self> =
        |_, device| device::clip(device, grads, scale, None, None);
    /// Returns the found-inf result of unscaled gradients after a clip by norm to `f32::MAX`, with the norm.
    norm(grads: Grads<Self>, scale: ScaleState, norm: Norm) -> FoundInf =
        |_, device| device::norm(device, grads, scale, norm);
    /// Returns gradients divided by their scale and clipped, in `f32`, and the verdict.
    clip(grads: Grads<Self>, scale: ScaleState, clip: Clip) -> Unscaled<Self> =
        |_, device| device::clip(device, grads, scale, Some(clip), None);
    /// Returns gradients divided by their scale, clipped as `first` says, if at all, and then group by group, and the verdict.
    clip_groups(grads: Grads<Self>, scale: ScaleState, first: Option<Clip>, groups: &[ClipGroup]) -> Unscaled<Self> =
        |_, device| device::clip(device, grads, scale, first, Some(groups));
    /// Returns the sum of a window's micro-batches. Each is unscaled by its own scale, and left out if its found-inf result is raised.
    accumulate(window: Vec<MicroBatch<Tensor<Self>>>) -> Grads<Self> =
        |_, device| device::accumulate(device, window);
    /// Returns the found-inf results of two passes, joined on the device.
    merge(into: MicroBatch<Tensor<Self>>, from: MicroBatch<Tensor<Self>>, join: MergeRule) -> MergeResult =
        |_, device| device::merge(device, into, from, join);
    /// Runs iterations from `start`, each from the previous one's state on the device, and reads after the last.
    iterate(rule: &LossScale, start: ScaleState, iterations: Vec<Iteration<Tensor<Self>>>) -> ScaleTrace =
        |_, device| device::iterate(device, rule, start, iterations);
    /// Returns the scale after an iteration.
    update_scale(rule: &LossScale, scale: ScaleState, found: &IterationFindings) -> ScaleState =
        |subject, device| device::update_scale(subject, device, rule, scale, found);
    /// Returns parameters after `steps`, which begin with fresh masters and moments.
    train(params: Params<Self>, steps: Vec<TrainStep<Tensor<Self>>>) -> Params<Self> =
        |_, device| device::train(device, MasterStore::Copy, params, steps);
    /// Returns parameters after `steps` with masters in this store.
    train_by(store: MasterStore, params: Params<Self>, steps: Vec<TrainStep<Tensor<Self>>>) -> Params<Self> =
        |_, device| device::train(device, store, params, steps);
} }
