//! Normalisation over the batch, by channel.

use super::{layer_norm::norm_likes, operands};
use crate::{Deferred, Error, Tensor};
use binade_core::Op;
use binade_cpu::Cpu;
use binade_ops::{BatchNorm, BatchNormConfig, BatchNormOutput, NormGrads, RunningStats, shape};

impl BatchNorm for Deferred {
    fn batch_norm(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: &Tensor,
        running: &RunningStats<Tensor>,
        config: BatchNormConfig,
    ) -> Result<BatchNormOutput<Tensor>, Error> {
        check(input, &[weight, bias], &[&running.mean, &running.var])?;
        shape::batch_norm_samples(input.shape())?;
        let likes = [input.like(), running.mean.like(), running.var.like()];
        let operands = [input, weight, bias, &running.mean, &running.var];
        let [output, mean, var] = self.tensors(&operands, likes, move |t| {
            let done = Cpu.batch_norm(t[0], t[1], t[2], &stats(t[3], t[4]), config)?;
            Ok([done.output, done.running.mean, done.running.var])
        });
        Ok(BatchNormOutput { output, running: RunningStats { mean, var } })
    }

    fn batch_norm_inference(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: &Tensor,
        running: &RunningStats<Tensor>,
        eps: f32,
    ) -> Result<Tensor, Error> {
        check(input, &[weight, bias], &[&running.mean, &running.var])?;
        let operands = [input, weight, bias, &running.mean, &running.var];
        Ok(self.tensor(&operands, input.like(), move |t| {
            Cpu.batch_norm_inference(t[0], t[1], t[2], &stats(t[3], t[4]), eps)
        }))
    }

    fn batch_norm_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        eps: f32,
    ) -> Result<NormGrads<Tensor>, Error> {
        check(input, &[weight], &[])?;
        shape::batch_norm_samples(input.shape())?;
        operands::grad(Op::BATCH_NORM, grad, &input.like())?;
        let likes = norm_likes(input, weight);
        let [input, weight, bias] = self.tensors(&[grad, input, weight], likes, move |t| {
            let grads = Cpu.batch_norm_backward(t[0], t[1], t[2], eps)?;
            Ok([grads.input, grads.weight, grads.bias])
        });
        Ok(NormGrads { input, weight, bias })
    }
}

fn stats(mean: &binade_cpu::Tensor, var: &binade_cpu::Tensor) -> RunningStats<binade_cpu::Tensor> {
    RunningStats { mean: mean.clone(), var: var.clone() }
}

fn check(input: &Tensor, parameters: &[&Tensor], running: &[&Tensor]) -> Result<(), Error> {
    let vectors: Vec<_> = parameters.iter().chain(running).map(|t| t.shape()).collect();
    shape::batch_norm(input.shape(), &vectors)?;
    operands::norm(Op::BATCH_NORM, input, parameters)?;
    Ok(operands::all_f32(Op::BATCH_NORM, running)?)
}
