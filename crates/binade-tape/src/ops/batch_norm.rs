//! Normalisation over the batch, by channel.

use super::{Failed, Outcome, Saves, all};
use crate::{Device, TapeError, Var, record::Value};
use binade_core::ops::{
    BatchNorm, BatchNormConfig, BatchNormOutput, NormGrads, OpInvocation, RunningStats,
    SyncBatchNorm, SyncBatchNormOutput,
};
use binade_core::{Op, OpClass};

const SYNC_BATCH_NORM: Op = Op::custom("sync_batch_norm", OpClass::Norm);

impl<D: Device + BatchNorm> Var<D> {
    /// Normalises `self` [N, C, ..] by the batch's own statistics. Also returns the running statistics, moved by this batch: see
    /// [`BatchNorm`].
    ///
    /// The policy decides on the input's type only: gain and offset keep their type, for example `f32` with an `f16` input.
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operands do not fit, or the device fails.
    pub fn batch_norm(
        &self,
        weight: &Self,
        bias: &Self,
        running: &RunningStats<D::Tensor>,
        config: BatchNormConfig,
    ) -> Result<(Self, RunningStats<D::Tensor>), Failed<D>> {
        let [x, w, b] = self.norm_operands(weight, bias)?;
        let (device, input, gain) = (self.tape().device(), x.tensor.clone(), w.tensor.clone());
        let BatchNormOutput { output, running } =
            device.batch_norm(&input, &gain, &b.tensor, running, config)?;
        let rule = move |device: &D, grad: &D::Tensor| {
            device.batch_norm_backward(grad, &input, &gain, config.eps)
        };
        let call = OpInvocation::BatchNormBackward { eps: config.eps };
        Ok((self.push_norm([x, w, b], output, rule, Some(call)), running))
    }

    /// Normalises `self` by the running statistics, under [`Tape::no_grad`](crate::Tape::no_grad).
    ///
    /// # Errors
    ///
    /// [`TapeError::NoBackward`] if a gradient of an operand is wanted; if the region's policy refuses, the
    /// operands do not fit, or the device fails.
    pub fn batch_norm_inference(
        &self,
        weight: &Self,
        bias: &Self,
        running: &RunningStats<D::Tensor>,
        eps: f32,
    ) -> Outcome<D> {
        let operands = self.norm_operands(weight, bias)?;
        if operands.iter().any(|operand| operand.node.is_some()) {
            return Err(TapeError::NoBackward { op: "batch_norm_inference" });
        }
        let [x, w, b] = operands.map(|operand| operand.tensor);
        let output = self.tape().device().batch_norm_inference(&x, &w, &b, running, eps)?;
        Ok(self.tape().constant(output))
    }
}

impl<D: Device + SyncBatchNorm> Var<D> {
    /// Normalises `self` [N, C, ..] by the statistics of the batches of all devices that meet, as of one batch. Also returns the
    /// running statistics, moved by it, the same on all: see [`SyncBatchNorm`].
    ///
    /// It replaces [`batch_norm`](Self::batch_norm) in a model whose batch is divided among ranks. Forward and backward are collective calls, so
    /// every device needs the same calls in the same order; a [recomputed](crate::Tape::recompute) part makes one more. The policy is asked as for
    /// `batch_norm`.
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operands do not fit, the device fails, or another does not come.
    pub fn sync_batch_norm(
        &self,
        weight: &Self,
        bias: &Self,
        running: &RunningStats<D::Tensor>,
        config: BatchNormConfig,
    ) -> Result<(Self, RunningStats<D::Tensor>), Failed<D>> {
        let [x, w, b] = self.norm_operands(weight, bias)?;
        let (device, input, gain) = (self.tape().device(), x.tensor.clone(), w.tensor.clone());
        let SyncBatchNormOutput { output, running, batch } =
            device.sync_batch_norm(&input, &gain, &b.tensor, running, config)?;
        let rule = move |device: &D, grad: &D::Tensor| {
            device.sync_batch_norm_backward(grad, &input, &gain, &batch, config.eps)
        };
        Ok((self.push_norm([x, w, b], output, rule, None), running))
    }
}

impl<D: Device> Var<D> {
    fn norm_operands(&self, weight: &Self, bias: &Self) -> Result<[Value<D>; 3], Failed<D>> {
        let [x] = self.operands(Op::BATCH_NORM, [self])?;
        let [w, b] = self.seen(Op::BATCH_NORM, [weight, bias])?;
        Ok([x, w, b])
    }

    /// Records the output of a normalisation by a batch, whose gradients `grads` returns, as the backward `call` of one device does.
    fn push_norm(
        &self,
        [x, w, b]: [Value<D>; 3],
        output: D::Tensor,
        grads: impl Fn(&D, &D::Tensor) -> Result<NormGrads<D::Tensor>, D::Error> + Send + Sync + 'static,
        call: Option<OpInvocation>,
    ) -> Self {
        let rule = move |device: &D, grad: &D::Tensor| {
            let NormGrads { input, weight, bias } = grads(device, grad)?;
            Ok(all([input, weight, bias]))
        };
        let inputs = [&x, &w, &b];
        let saves = Saves::Inputs(&inputs[..2]);
        match call {
            Some(call) => self.push_call(Op::BATCH_NORM, &inputs, &saves, output, rule, call),
            None => self.push(SYNC_BATCH_NORM, &inputs, &saves, output, rule),
        }
    }
}
