//! Gradients of elementwise operations.

use crate::{
    Device, Tape, Var,
    ops::{Outcome, Saves, linear_map::map},
    record::RecordedRule,
};
use binade_core::ops::Ops;
use binade_core::{Op, OpClass};
use std::f32::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

/// Density of the normal distribution at 0, `1/√(2π)`.
const DENSITY_AT_0: f32 = FRAC_2_SQRT_PI * FRAC_1_SQRT_2 / 2.0;
const GELU_SLOPE: Op = Op::custom("gelu_slope", OpClass::Exponential);

/// Records `g` where the output is above 0. It is linear in `g`, and has no gradient with respect to the output.
pub(super) fn relu<D: Device + Ops>(_: usize, taken: &[Var<D>]) -> Outcome<D> {
    let [grad, output] = taken else { unreachable!("`relu_backward` takes two tensors") };
    let output = output.tensor().clone();
    let open = map(move |device: &D, x: &D::Tensor| device.relu_backward(x, &output));
    grad.linear_map(Op::RELU, [open.clone(), open])
}

/// Computes `g·y`.
pub(super) fn exp<D: Device + Ops>(_: usize, taken: &[Var<D>]) -> Outcome<D> {
    taken[0].mul(&taken[1])
}

/// Computes `g·(1 − y²)`.
pub(super) fn tanh<D: Device + Ops>(_: usize, taken: &[Var<D>]) -> Outcome<D> {
    taken[0].mul(&one_less_square(&taken[1])?)
}

/// Computes `g / 2y`.
pub(super) fn sqrt<D: Device + Ops>(_: usize, taken: &[Var<D>]) -> Outcome<D> {
    taken[0].div(&taken[1].scaled_by(2.0)?)
}

/// Computes `g·(s + x·s·(1 − s))` with the sigmoid `s = (1 + tanh(x/2)) / 2`.
pub(super) fn silu<D: Device + Ops>(_: usize, taken: &[Var<D>]) -> Outcome<D> {
    let x = &taken[1];
    let tanh = x.scaled_by(0.5)?.tanh()?;
    let slope = tanh.plus(1.0)?.scaled_by(0.5)?;
    // s·(1 − s) = (1 − tanh²) / 4.
    let slope = slope.add(&x.mul(&one_less_square(&tanh)?)?.scaled_by(0.25)?)?;
    taken[0].mul(&slope)
}

/// Computes `g·((1 + t) + x·(1 − t²)·u′) / 2` with `t = tanh(u)` and `u = √(2/π)·(x + 0.044715·x³)`.
pub(super) fn gelu_tanh<D: Device + Ops>(_: usize, taken: &[Var<D>]) -> Outcome<D> {
    const CUBIC: f32 = 0.044_715;
    const ROOT: f32 = 2.0 * DENSITY_AT_0;
    let x = &taken[1];
    let square = x.mul(x)?;
    let tanh = x.mul(&square.scaled_by(CUBIC)?.plus(1.0)?)?.scaled_by(ROOT)?.tanh()?;
    let inner = square.scaled_by(3.0 * CUBIC)?.plus(1.0)?.scaled_by(ROOT)?;
    let slope = x.mul(&one_less_square(&tanh)?)?.mul(&inner)?.add(&tanh.plus(1.0)?)?;
    taken[0].mul(&slope.scaled_by(0.5)?)
}

/// Computes `g·(Φ(x) + x·φ(x))`, with the normal distribution Φ and its density φ.
pub(super) fn gelu<D: Device + Ops>(_: usize, taken: &[Var<D>]) -> Outcome<D> {
    taken[0].mul(&gelu_slope(&taken[1])?)
}

/// Records `Φ(x) + x·φ(x)`, computed by the kernel since no operation is Φ. Its own slope is `φ(x)·(2 − x²)`.
fn gelu_slope<D: Device + Ops>(x: &Var<D>) -> Outcome<D> {
    let device = x.tape().device();
    let value = device.gelu_backward(x.filled(1.0)?.tensor(), x.tensor())?;
    let (kept, again) = (x.value().kept(), x.value().kept());
    let plain = x.tape().region().off();
    let rule = move |device: &D, grad: &D::Tensor| {
        let tape = Tape::new(device.clone(), &plain);
        let x = tape.constant(kept.tensor.clone());
        Ok(vec![Some(device.mul(grad, gelu_curvature(&x)?.tensor())?)])
    };
    let inputs = [x.value()];
    Ok(x.push_recorded(GELU_SLOPE, &inputs, &Saves::Inputs(&inputs), value, rule, |_| {
        RecordedRule::Own(Box::new(move |grad, _| {
            grad.mul(&gelu_curvature(&again.on(grad.tape()))?).map(Some)
        }))
    }))
}

/// Computes `φ(x)·(2 − x²)`.
fn gelu_curvature<D: Device + Ops>(x: &Var<D>) -> Outcome<D> {
    let square = x.mul(x)?;
    let density = square.scaled_by(-0.5)?.exp()?.scaled_by(DENSITY_AT_0)?;
    density.mul(&square.scaled_by(-1.0)?.plus(2.0)?)
}

/// Returns `g` for the first operand and `−g` for the second.
pub(super) fn sub<D: Device + Ops>(operand: usize, taken: &[Var<D>]) -> Outcome<D> {
    if operand == 0 { Ok(taken[0].clone()) } else { taken[0].scaled_by(-1.0) }
}

/// Computes `g·b` and `g·a`.
pub(super) fn mul<D: Device + Ops>(operand: usize, taken: &[Var<D>]) -> Outcome<D> {
    taken[0].mul(&taken[2 - operand])
}

/// Computes `g/b` and `−g·(a/b)/b`.
pub(super) fn div<D: Device + Ops>(operand: usize, taken: &[Var<D>]) -> Outcome<D> {
    let [grad, a, b] = taken else { unreachable!("`div_backward` takes three tensors") };
    if operand == 0 {
        return grad.div(b);
    }
    grad.mul(&a.div(b)?)?.div(b)?.scaled_by(-1.0)
}

/// Returns `g`, and its sums by channel.
pub(super) fn bias_add<D: Device + Ops>(operand: usize, taken: &[Var<D>]) -> Outcome<D> {
    if operand == 0 { Ok(taken[0].clone()) } else { taken[0].channel_sums() }
}

/// Computes `1 − y²`.
fn one_less_square<D: Device + Ops>(y: &Var<D>) -> Outcome<D> {
    y.mul(y)?.scaled_by(-1.0)?.plus(1.0)
}
