//! Every [`Device`] is a [`Subject`].

use crate::via::{self, Device};
use crate::{
    Arithmetic, Clip, Collected, Coordinates, Course, Delayed, Iteration, Joined, Layout, Led,
    Losses, MicroBatch, OpInvocation, Refusal, Round, Subject, Turn, Unscaled, Walked,
};
use binade_core::{DType, Finding, Handle, Named, NamedGrads, Native, stochastic::Key};
use binade_grad_scaler::{ClipGroup, Join, LossScale, Norm, ScaleState, Step};
use binade_master_weights::MasterStore;
use std::any::TypeId;

impl<S: Device> Subject for S {
    type Tensor = <S::Handle as Handle>::Tensor;

    fn name(&self) -> &str {
        Device::name(self)
    }

    fn arithmetic(&self) -> Arithmetic {
        Device::arithmetic(self)
    }

    fn joins_by_amp_tensor(&self) -> bool {
        TypeId::of::<S::Handle>() == TypeId::of::<Native<Self::Tensor>>()
    }

    fn from_bits(
        &self,
        bits: &[u8],
        dtype: DType,
        shape: &[usize],
    ) -> Result<Self::Tensor, Refusal> {
        Device::from_bits(self, bits, dtype, shape)
    }

    fn view(
        &self,
        bits: &[u8],
        dtype: DType,
        shape: &[usize],
        layout: Layout,
    ) -> Result<Self::Tensor, Refusal> {
        Device::view(self, bits, dtype, shape, layout)
    }

    fn to_bits(&self, tensor: &Self::Tensor) -> Result<Vec<u8>, Refusal> {
        Device::to_bits(self, tensor)
    }

    fn cast(&self, tensor: &Self::Tensor, to: DType) -> Result<Self::Tensor, Refusal> {
        Device::cast(self, tensor, to)
    }

    fn cast_all(&self, tensors: &[&Self::Tensor], to: DType) -> Result<Vec<Self::Tensor>, Refusal> {
        Device::cast_all(self, tensors, to)
    }

    fn cast_saturating(&self, tensor: &Self::Tensor, to: DType) -> Result<Self::Tensor, Refusal> {
        Device::cast_saturating(self, tensor, to)
    }

    fn cast_stochastic(
        &self,
        tensor: &Self::Tensor,
        to: DType,
        key: Key,
    ) -> Result<Self::Tensor, Refusal> {
        Device::cast_stochastic(self, tensor, to, key)
    }

    fn scale(&self, tensor: &Self::Tensor, scale: ScaleState) -> Result<Self::Tensor, Refusal> {
        via::scale(self.handle(), tensor, scale)
    }

    fn unscale_tensor(
        &self,
        tensor: &Self::Tensor,
        scale: ScaleState,
    ) -> Result<Self::Tensor, Refusal> {
        via::unscale_tensor(self.handle(), tensor, scale)
    }

    fn unscale(
        &self,
        grads: NamedGrads<Self::Tensor>,
        scale: ScaleState,
    ) -> Result<Unscaled<Self::Tensor>, Refusal> {
        via::unscale(self.handle(), grads, scale)
    }

    fn norm(
        &self,
        grads: NamedGrads<Self::Tensor>,
        scale: ScaleState,
        norm: Norm,
    ) -> Result<Finding, Refusal> {
        via::norm(self.handle(), grads, scale, norm)
    }

    fn clip(
        &self,
        grads: NamedGrads<Self::Tensor>,
        scale: ScaleState,
        clip: Clip,
    ) -> Result<Unscaled<Self::Tensor>, Refusal> {
        via::clip(self.handle(), grads, scale, clip)
    }

    fn clip_groups(
        &self,
        grads: NamedGrads<Self::Tensor>,
        scale: ScaleState,
        first: Option<Clip>,
        groups: &[ClipGroup],
    ) -> Result<Unscaled<Self::Tensor>, Refusal> {
        via::clip_groups(self.handle(), grads, scale, first, groups)
    }

    fn accumulate(
        &self,
        window: Vec<MicroBatch<Self::Tensor>>,
    ) -> Result<NamedGrads<Self::Tensor>, Refusal> {
        via::accumulate(self.handle(), window)
    }

    fn merge(
        &self,
        into: MicroBatch<Self::Tensor>,
        from: MicroBatch<Self::Tensor>,
        join: Join,
    ) -> Result<Joined, Refusal> {
        via::merge(self.handle(), into, from, join)
    }

    fn iterate(
        &self,
        rule: &LossScale,
        start: ScaleState,
        iterations: Vec<Iteration<Self::Tensor>>,
    ) -> Result<Course, Refusal> {
        via::iterate(self.handle(), rule, start, iterations)
    }

    fn update_scale(
        &self,
        rule: &LossScale,
        scale: ScaleState,
        round: &Round,
    ) -> Result<ScaleState, Refusal> {
        via::update_scale(self, self.handle(), rule, scale, round)
    }

    fn train(
        &self,
        params: Vec<Named<Self::Tensor>>,
        turns: Vec<Turn<Self::Tensor>>,
    ) -> Result<Vec<Named<Self::Tensor>>, Refusal> {
        via::train(self.handle(), params, turns)
    }

    fn train_by(
        &self,
        store: MasterStore,
        params: Vec<Named<Self::Tensor>>,
        turns: Vec<Turn<Self::Tensor>>,
    ) -> Result<Vec<Named<Self::Tensor>>, Refusal> {
        via::train_by(self.handle(), store, params, turns)
    }

    fn compute(
        &self,
        op: &OpInvocation,
        operands: &[&Self::Tensor],
    ) -> Result<Vec<Self::Tensor>, Refusal> {
        Device::compute(self, op, operands)
    }
    fn sparse(
        &self,
        grads: Vec<Named<Coordinates>>,
        scale: ScaleState,
    ) -> Result<Unscaled<Self::Tensor>, Refusal> {
        via::sparse(self, self.handle(), grads, scale)
    }

    fn delayed(&self, window: Delayed<Self::Tensor>) -> Result<Collected<Self::Tensor>, Refusal> {
        via::delayed(self, self.handle(), window)
    }

    fn follow(&self, run: Led<Self::Tensor>) -> Result<Walked<Self::Tensor>, Refusal> {
        via::follow(self.handle(), run)
    }

    fn update_each(&self, losses: Losses<Self::Tensor>) -> Result<[Step; 2], Refusal> {
        via::update_each(self.handle(), losses)
    }
}
