//! What every wrong subject is made of: the toy, with a few operations done otherwise.

use crate::toy::{Plain, Toy};
use binade_conformance::{
    Arithmetic, Clip, Collected, Coordinates, Course, Delayed, Iteration, Joined, Layout, Led,
    Losses, MicroBatch, OpInvocation, Refusal, Round, Subject, Turn, Unscaled, Walked,
};
use binade_core::{DType, Finding, Named, NamedGrads, stochastic::Key};
use binade_grad_scaler::{ClipGroup, Join, LossScale, Norm, ScaleState, Step};
use binade_master_weights::MasterStore;

/// A fault as a subject: one type for all of them, so that the cases are compiled once.
pub(crate) struct Faulty<'f>(pub(crate) &'f dyn Fault);

macro_rules! operations {
    ($($operation:ident($($given:ident: $of:ty),*) -> $gives:ty;)*) => {
        /// A fault: the operations that it changes, each of which may ask the toy for what is right.
        #[expect(clippy::wrong_self_convention, reason = "the subject is the device, not the tensor")]
        pub(crate) trait Fault {
            $(fn $operation(&self, $($given: $of),*) -> Result<$gives, Refusal> {
                Toy.$operation($($given),*)
            })*
        }

        impl Subject for Faulty<'_> {
            type Tensor = Plain;

            fn name(&self) -> &'static str {
                "wrong"
            }

            fn arithmetic(&self) -> Arithmetic {
                Toy.arithmetic()
            }

            $(fn $operation(&self, $($given: $of),*) -> Result<$gives, Refusal> {
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
    cast_all(tensors: &[&Plain], to: DType) -> Vec<Plain>;
    cast_saturating(tensor: &Plain, to: DType) -> Plain;
    cast_stochastic(tensor: &Plain, to: DType, key: Key) -> Plain;
    scale(tensor: &Plain, scale: ScaleState) -> Plain;
    unscale_tensor(tensor: &Plain, scale: ScaleState) -> Plain;
    unscale(grads: NamedGrads<Plain>, scale: ScaleState) -> Unscaled<Plain>;
    norm(grads: NamedGrads<Plain>, scale: ScaleState, norm: Norm) -> Finding;
    clip(grads: NamedGrads<Plain>, scale: ScaleState, clip: Clip) -> Unscaled<Plain>;
    clip_groups(grads: NamedGrads<Plain>, scale: ScaleState, first: Option<Clip>, groups: &[ClipGroup]) -> Unscaled<Plain>;
    accumulate(window: Vec<MicroBatch<Plain>>) -> NamedGrads<Plain>;
    merge(into: MicroBatch<Plain>, from: MicroBatch<Plain>, join: Join) -> Joined;
    iterate(rule: &LossScale, start: ScaleState, run: Vec<Iteration<Plain>>) -> Course;
    update_scale(rule: &LossScale, scale: ScaleState, round: &Round) -> ScaleState;
    train(params: Vec<Named<Plain>>, turns: Vec<Turn<Plain>>) -> Vec<Named<Plain>>;
    train_by(store: MasterStore, params: Vec<Named<Plain>>, turns: Vec<Turn<Plain>>) -> Vec<Named<Plain>>;
    compute(op: &OpInvocation, operands: &[&Plain]) -> Vec<Plain>;
    sparse(grads: Vec<Named<Coordinates>>, scale: ScaleState) -> Unscaled<Plain>;
    delayed(window: Delayed<Plain>) -> Collected<Plain>;
    follow(run: Led<Plain>) -> Walked<Plain>;
    update_each(losses: Losses<Plain>) -> [Step; 2];
}
