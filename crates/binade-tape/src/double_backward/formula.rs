//! Table of backward calls and their formulas.

use super::{losses, norms, pointwise, products, windows};
use crate::{Device, Var, ops::Outcome};
use binade_core::ops::{OpInvocation as Call, Ops};
use std::sync::Arc;

/// Function that records the gradient of the operand with this number, from the values that the backward call takes, the gradient first.
type Of<D> = Arc<dyn Fn(usize, &[Var<D>]) -> Outcome<D> + Send + Sync>;

/// Formula of a backward call.
pub(super) enum Formula<D: Device> {
    /// Formula made of the call's own operations, so that recording it gives the call's result.
    Exact(Of<D>),
    /// Formula that does not round as the call does. Only its gradient is used, and it is given 16-bit tensors in `f32`.
    Wide(Of<D>),
}

/// Returns the formula of a backward call; Returns `None` if the operation has no double backward.
pub(super) fn formula<D: Device + Ops>(call: &Call) -> Option<Formula<D>> {
    let formula = match call.clone() {
        Call::ReluBackward => exact(pointwise::relu),
        Call::GeluBackward => wide(pointwise::gelu),
        Call::GeluTanhBackward => wide(pointwise::gelu_tanh),
        Call::SiluBackward => wide(pointwise::silu),
        Call::TanhBackward => wide(pointwise::tanh),
        Call::ExpBackward => exact(pointwise::exp),
        Call::SqrtBackward => wide(pointwise::sqrt),
        Call::AddBackward => exact(|_, taken| Ok(taken[0].clone())),
        Call::SubBackward => exact(pointwise::sub),
        Call::MulBackward => exact(pointwise::mul),
        Call::DivBackward => wide(pointwise::div),
        Call::BiasAddBackward => exact(pointwise::bias_add),
        Call::MatMulBackward => exact(products::matmul),
        Call::BmmBackward => exact(products::bmm),
        Call::LinearBackward { .. } => exact(products::linear),
        Call::LinearReluBackward { .. } => exact(products::linear_relu),
        Call::Conv2dBackward { config, .. } => {
            exact(move |place, taken| windows::conv2d(place, taken, config))
        }
        Call::MaxPool2dBackward { config } => {
            exact(move |_, taken| windows::max_pool2d(taken, config))
        }
        Call::LayerNormBackward { eps } => {
            wide(move |place, taken| norms::layer_norm(place, taken, eps))
        }
        Call::RmsNormBackward { eps } => {
            wide(move |place, taken| norms::rms_norm(place, taken, eps))
        }
        Call::BatchNormBackward { eps } => {
            wide(move |place, taken| norms::batch_norm(place, taken, eps))
        }
        Call::SoftmaxBackward => wide(norms::softmax),
        Call::LogSoftmaxBackward => wide(norms::log_softmax),
        Call::CrossEntropyBackward => wide(losses::cross_entropy),
        Call::MseLossBackward => wide(losses::mse_loss),
        Call::SumBackward { shape, dtype } => {
            exact(move |_, taken| taken[0].spread(shape.clone(), dtype))
        }
        Call::MeanBackward { shape, dtype } => {
            exact(move |_, taken| losses::mean(taken, shape.clone(), dtype))
        }
        _ => return None,
    };
    Some(formula)
}

fn exact<D: Device>(
    of: impl Fn(usize, &[Var<D>]) -> Outcome<D> + Send + Sync + 'static,
) -> Formula<D> {
    Formula::Exact(Arc::new(of))
}

fn wide<D: Device>(
    of: impl Fn(usize, &[Var<D>]) -> Outcome<D> + Send + Sync + 'static,
) -> Formula<D> {
    Formula::Wide(Arc::new(of))
}
