//! The base of every wrong subject: the toy, with a few operations changed.

use super::toy::{Device, Plain, Toy};
use crate::{
    Arithmetic, Backend, Clip, Iteration, IterationFindings, Layout, MergeResult, MicroBatch,
    OpInvocation, Result, ScaleTrace, SetCall, SetResult, SparseResult, SparseRun, TrainStep,
    UnscaleResult,
};
use binade_core::{DType, FoundInf, Named, NamedGrads, stochastic::Key};
use binade_cpu::Cpu;
use binade_grad_scaler::{ClipGroup, LossScale, MergeRule, Norm, ScaleState};
use binade_master_weights::MasterStore;

/// A fault as a subject: one type for all of them, so that the cases are compiled once.
pub(super) struct Faulty<'f>(pub(super) &'f dyn Fault);

/// The toy as the same type of subject as every fault.
pub(super) const TOY: Faulty<'_> = Faulty(&Faultless(Toy));

/// Subject without a fault of its own.
pub(super) struct Faultless(pub(super) Device);

impl Fault for Faultless {
    fn base(&self) -> Device {
        self.0
    }

    fn name(&self) -> &str {
        self.0.name()
    }
}

macro_rules! operations {
    ($($operation:ident($($given:ident: $of:ty),*) -> $gives:ty;)*) => {
        /// A fault: the operations that it changes. Each may get the right result from its base.
        #[expect(clippy::wrong_self_convention, reason = "the subject is the device, not the tensor")]
        pub(super) trait Fault {
            fn base(&self) -> Device {
                Toy
            }

            fn name(&self) -> &str {
                "wrong"
            }

            fn arithmetic(&self) -> Arithmetic {
                Backend::arithmetic(&Toy)
            }

            $(fn $operation(&self, $($given: $of),*) -> Result<$gives> {
                Backend::$operation(&self.base(), $($given),*)
            })*
        }

        impl Backend for Faulty<'_> {
            type Handle = Cpu;

            fn handle(&self) -> Option<&Cpu> {
                Some(&Cpu)
            }

            fn name(&self) -> &str {
                self.0.name()
            }

            fn arithmetic(&self) -> Arithmetic {
                self.0.arithmetic()
            }

            $(fn $operation(&self, $($given: $of),*) -> Result<$gives> {
                self.0.$operation($($given),*)
            })*
        }
    };
}

operations! {
    from_bits(bits: &[u8], dtype: DType, shape: &[usize]) -> Plain;
    view(bits: &[u8], dtype: DType, shape: &[usize], layout: Layout) -> Plain;
    to_bits(tensor: &Plain) -> Vec<u8>;
    cast(tensor: &Plain, to: DType) -> Plain;
    cast_saturating(tensor: &Plain, to: DType) -> Plain;
    cast_stochastic(tensor: &Plain, to: DType, key: Key) -> Plain;
    scale(tensor: &Plain, scale: ScaleState) -> Plain;
    unscale_tensor(tensor: &Plain, scale: ScaleState) -> Plain;
    unscale(grads: NamedGrads<Plain>, scale: ScaleState) -> UnscaleResult<Plain>;
    norm(grads: NamedGrads<Plain>, scale: ScaleState, norm: Norm) -> FoundInf;
    clip(grads: NamedGrads<Plain>, scale: ScaleState, clip: Clip) -> UnscaleResult<Plain>;
    clip_groups(grads: NamedGrads<Plain>, scale: ScaleState, first: Option<Clip>, groups: &[ClipGroup]) -> UnscaleResult<Plain>;
    accumulate(window: Vec<MicroBatch<Plain>>) -> NamedGrads<Plain>;
    merge(into: MicroBatch<Plain>, from: MicroBatch<Plain>, join: MergeRule) -> MergeResult;
    iterate(rule: &LossScale, start: ScaleState, run: Vec<Iteration<Plain>>) -> ScaleTrace;
    update_scale(rule: &LossScale, scale: ScaleState, round: &IterationFindings) -> ScaleState;
    train(params: Vec<Named<Plain>>, turns: Vec<TrainStep<Plain>>) -> Vec<Named<Plain>>;
    train_by(store: MasterStore, params: Vec<Named<Plain>>, turns: Vec<TrainStep<Plain>>) -> Vec<Named<Plain>>;
    multi_tensor(call: &SetCall, x: &[Named<Plain>], y: &[Named<Plain>]) -> SetResult<Plain>;
    compute(op: &OpInvocation, operands: &[&Plain]) -> Vec<Plain>;
    sparse(run: SparseRun<Plain>) -> SparseResult<Plain>;
}
