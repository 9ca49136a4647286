//! Code shared by linear layers and convolutions: an input, a weight and perhaps a bias.

use crate::{Deferred, Tensor, tensor::Like};
use binade_ops::AffineGrads;

type Value = binade_cpu::Tensor;

/// Returns input, weight, and the bias if there is one.
pub(super) fn operands<'t>(
    input: &'t Tensor,
    weight: &'t Tensor,
    bias: Option<&'t Tensor>,
) -> Vec<&'t Tensor> {
    [input, weight].into_iter().chain(bias).collect()
}

/// Returns the gradients that `work` makes of `[grad, input, weight]`, which were found to fit.
pub(super) fn grads(
    device: &Deferred,
    [grad, input, weight]: [&Tensor; 3],
    bias: bool,
    work: impl FnOnce(&[&Value]) -> Result<AffineGrads<Value>, binade_cpu::Error> + Send + 'static,
) -> AffineGrads<Tensor> {
    let inputs = [grad, input, weight];
    if bias {
        let like = Like { shape: weight.shape()[..1].to_vec(), dtype: weight.dtype() };
        let likes = [input.like(), weight.like(), like];
        let [input, weight, bias] = device.tensors(&inputs, likes, |t| {
            let AffineGrads { input, weight, bias } = work(t)?;
            // It was asked for, and so it is there.
            let bias = bias.unwrap_or_else(|| weight.clone());
            Ok([input, weight, bias])
        });
        return AffineGrads { input, weight, bias: Some(bias) };
    }
    let [input, weight] = device.tensors(&inputs, [input.like(), weight.like()], |t| {
        let AffineGrads { input, weight, .. } = work(t)?;
        Ok([input, weight])
    });
    AffineGrads { input, weight, bias: None }
}
