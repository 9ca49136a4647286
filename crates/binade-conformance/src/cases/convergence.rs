//! A seeded run of two hundred steps whose gradients sixteen bits lose unless they are scaled. Operations that are right one by one may still fail to
//! train together.
//!
//! The loss has a weight of 2^-26, such as one of several losses may have, and the learning rate compensates for it. In `f16` every unscaled gradient
//! is below half of the least subnormal, 2^-25, and so zero. In `bf16` none is zero, and the scale is 1. Three steps overflow on purpose.
//!
//! The oracle trains a network of two layers by gradient descent on one batch. Only its parameters are rounded, to `f32`.

use super::cast::rounded;
use super::linear::{self, linear};
use super::linear_relu::linear_relu;
use super::mse_loss::{self, mse_loss};
use super::prelude::*;
use super::training::narrow;
use super::unscale::{Set, factor, upload};
use super::{relu, scale_update};
use crate::OpInvocation::{Linear, LinearBackward, MseLossBackward, Relu, ReluBackward};
use crate::{IterationFindings, PassFinding, Result, TrainStep};
use binade_grad_scaler::{LossScale, ScaleState, UpdateInputs};
use binade_master_weights::UpdateRule;

const STEPS: usize = 200;
const OVERFLOWS: [usize; 3] = [60, 61, 140];
const WEIGHT: i32 = -26;
/// Learning rate of the loss without its weight.
const LR: f64 = 0.125;
const NAMES: [&str; 4] = ["hidden.weight", "hidden.bias", "out.weight", "out.bias"];

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for dtype in [DType::BF16, DType::F16] {
        cases.add(dtype, "two_hundred_steps_track_the_loss_of_f32", move |s: &S, check| {
            Run::new(dtype).by(s, check, on_device)
        });
        cases.add(dtype, "gradients_of_the_host_train_as_in_f32", move |s: &S, check| {
            Run::new(dtype).by(s, check, on_host)
        });
    }
}

/// A run: its parameters, its batch and its scale.
struct Run {
    dtype: DType,
    batch: Batch,
    params: Params,
    rule: LossScale,
}

/// Parameters on the subject, which stay there between steps, and their values.
struct Held<T> {
    tensors: Vec<Named<T>>,
    values: Params,
}

/// Backward pass: returns gradients of these parameters in sixteen bits, for the gradient `above` of the loss.
type Backward<S> = fn(&S, &Run, &Held<Tensor<S>>, f64) -> Result<Set, CaseError>;

impl Run {
    /// Creates a run. Inputs and targets are multiples of 1/16, which both types hold, so that both learn the same.
    fn new(dtype: DType) -> Self {
        let [examples, inputs, units] = SIZES;
        let mut draw = Draw::new(200);
        let mut vector =
            |n: usize, limit: f64| (0..n).map(|_| draw.within(-limit, limit)).collect::<Vec<f64>>();
        let sixteenth = |x: f64| (x * 16.0).round() / 16.0;
        let x: Vec<f64> = vector(examples * inputs, 1.0).into_iter().map(sixteenth).collect();
        let target = |x: &[f64]| sixteenth(x[0] - 0.5 * x[1] + (x[2] * x[3]).abs());
        let targets = x.chunks(inputs).map(target).collect();
        let params = [units * inputs, units, units, 1]
            .map(|n| vector(n, 0.5).into_iter().map(|w| rounded(w, DType::F32)).collect());
        let rule = if dtype == DType::F16 { growing() } else { LossScale::none() };
        Self { dtype, batch: Batch { inputs: x, targets }, params, rule }
    }

    /// Returns the allowed distance of a loss from that of `f32`, as a share of the first loss: half a unit of the type at 1.
    fn band(&self) -> f64 {
        match self.dtype {
            DType::F16 => 2.0_f64.powi(-11),
            _ => 2.0_f64.powi(-8),
        }
    }

    /// Trains, and compares the loss before each step and after the last, and the scale in the end.
    fn by<S: Backend>(&self, s: &S, check: &mut Check, backward: Backward<S>) -> Verdict {
        let (mut held, mut state) =
            (self.start(s)?, ScaleState::from_exponent(self.rule.init_exponent));
        let (mut seen, mut wanted) = (vec![loss(&held.values, &self.batch)], state);
        for step in 0..STEPS {
            let overflows = OVERFLOWS.contains(&step);
            let scaled = factor(&state) * 2.0_f64.powi(WEIGHT);
            let above = if overflows { f64::INFINITY } else { scaled };
            let grads = backward(s, self, &held, above)?;
            (held, state) = self.step(s, held, &grads, state)?;
            seen.push(loss(&held.values, &self.batch));
            let overflow =
                UpdateInputs { overflow: overflows, skipped: overflows, ..UpdateInputs::default() };
            wanted = scale_update::update(&self.rule, &wanted, overflow);
        }
        self.compare(check, &seen)?;
        check.equal("the scale in the end", told(&state), told(&wanted))
    }

    fn start<S: Backend>(&self, s: &S) -> Result<Held<Tensor<S>>, CaseError> {
        let params = named(DType::F32, &self.params);
        let tensors = params.map(|(name, param)| Ok(Named::new(name, put(s, &param)?)));
        let tensors = tensors.collect::<Result<_>>()?;
        Ok(Held { tensors, values: self.params.clone() })
    }

    fn compare(&self, check: &mut Check, seen: &[f64]) -> Verdict {
        let skips: Vec<bool> = (0..STEPS).map(|step| OVERFLOWS.contains(&step)).collect();
        let wanted = losses(&self.params, &self.batch, LR, &skips);
        let mass = self.band() * wanted[0] * 2.0_f64.powi(24);
        let near = |&value: &f64| Expected { mass, ..Expected::exactly(value) };
        let wanted: Vec<Expected> = wanted.iter().map(near).collect();
        check.tensor(&[], &Stored::vector(DType::F32, seen.iter().copied()), &wanted)
    }

    /// Takes one step of masters that are the parameters: the step returns `f32`, with which the next begins.
    fn step<S: Backend>(
        &self,
        s: &S,
        held: Held<Tensor<S>>,
        grads: &Set,
        scale: ScaleState,
    ) -> Result<(Held<Tensor<S>>, ScaleState), CaseError> {
        let found = s.unscale(upload(s, grads)?, scale)?.found;
        // The learning rate compensates for the weight of the loss.
        let rule = UpdateRule::sgd(LR * 2.0_f64.powi(-WEIGHT));
        let turn = TrainStep { rule, grads: upload(s, grads)?, scale, clip: None, beside: None };
        let held = read(s, s.train(held.tensors, vec![turn])?)?;
        let pass = PassFinding { raised: found.is_raised(), magnitude: found.magnitude };
        let round = IterationFindings { parts: vec![pass], verdicts: vec![pass] };
        Ok((held, s.update_scale(&self.rule, scale, &round)?))
    }
}

/// Returns a scale that starts at 2^24 and grows several times during the run.
fn growing() -> LossScale {
    let mut rule = LossScale::dynamic();
    (rule.init_exponent, rule.growth_interval, rule.max_exponent) = (24, 25, 30);
    rule
}

fn shapes() -> [Vec<usize>; 4] {
    let [_, inputs, units] = SIZES;
    [vec![units, inputs], vec![units], vec![1, units], vec![1]]
}

/// Returns the counts that are the same on every device, in words.
fn told(state: &ScaleState) -> String {
    let ScaleState { exponent, overflows, skipped, good_steps, .. } = state;
    format!("2^{exponent}, {overflows} overflows, {skipped} skips, {good_steps} good steps since")
}

/// Returns tensors with the parameters' names and shapes.
fn named(dtype: DType, values: &Params) -> impl Iterator<Item = (&'static str, Stored)> {
    let pairs = NAMES.into_iter().zip(shapes()).zip(values);
    pairs.map(move |((name, shape), values)| {
        (name, Stored::from_values(dtype, &shape, values.iter().copied()))
    })
}

/// Returns the values of the parameters after a step, whatever their order.
fn read<S: Backend>(s: &S, mut after: Vec<Named<Tensor<S>>>) -> Result<Held<Tensor<S>>, CaseError> {
    let mut held = Held { tensors: Vec::new(), values: Params::default() };
    for ((name, shape), values) in NAMES.iter().zip(shapes()).zip(&mut held.values) {
        let gone = || SubjectError::Failed(format!("parameter `{name}` is gone after training"));
        let place = after.iter().position(|param| &*param.name == *name).ok_or_else(gone)?;
        let param = after.swap_remove(place);
        *values = get(s, &param.value, DType::F32, &shape)?.values().collect();
        held.tensors.push(param);
    }
    Ok(held)
}

/// Returns the oracle's gradients, rounded once, for a subject that has neither casts nor operations.
#[expect(clippy::unnecessary_wraps, reason = "on the device it may fail")]
fn on_host<S: Backend>(
    _: &S,
    run: &Run,
    held: &Held<Tensor<S>>,
    above: f64,
) -> Result<Set, CaseError> {
    let grads = gradients(&held.values, &run.batch, above);
    Ok(named(run.dtype, &grads).map(|(name, grad)| (name, Some(grad))).collect())
}

/// Computes gradients by the subject's own casts and operations, forward and backward, all in sixteen bits.
fn on_device<S: Backend>(
    s: &S,
    run: &Run,
    held: &Held<Tensor<S>>,
    above: f64,
) -> Result<Set, CaseError> {
    let [examples, inputs, _] = SIZES;
    let batch = |shape: &[usize], values: &[f64]| {
        put(s, &Stored::from_values(run.dtype, shape, values.iter().copied()))
    };
    let x = batch(&[examples, inputs], &run.batch.inputs)?;
    let y = batch(&[examples, 1], &run.batch.targets)?;
    let above = put(s, &Stored::from_values(DType::F32, &[], [above]))?;
    let cast = |param: &Named<Tensor<S>>| s.cast(&param.value, run.dtype);
    let [w1, b1, w2, b2] = taken(held.tensors.iter().map(cast).collect::<Result<_, _>>()?)?;

    let [sums] = taken(s.compute(&Linear, &[&x, &w1, &b1])?)?;
    let [hidden] = taken(s.compute(&Relu, &[&sums])?)?;
    let [out] = taken(s.compute(&Linear, &[&hidden, &w2, &b2])?)?;

    let back = LinearBackward { bias: true };
    let [d, _] = taken(s.compute(&MseLossBackward, &[&above, &out, &y])?)?;
    let [d, gw2, gb2] = taken(s.compute(&back, &[&d, &hidden, &w2])?)?;
    let [d] = taken(s.compute(&ReluBackward, &[&d, &hidden])?)?;
    let [_, gw1, gb1] = taken(s.compute(&back, &[&d, &x, &w1])?)?;
    let grads = NAMES.into_iter().zip([gw1, gb1, gw2, gb2]).zip(shapes());
    grads.map(|((name, grad), shape)| Ok((name, Some(get(s, &grad, run.dtype, &shape)?)))).collect()
}

/// Returns the results, if there are as many as expected.
fn taken<T, const N: usize>(results: Vec<T>) -> Result<[T; N]> {
    let count = results.len();
    results.try_into().map_err(|_| SubjectError::Failed(format!("{count} results instead of {N}")))
}

// The oracle.

/// Examples in the batch, inputs of each, hidden units; there is one output.
const SIZES: [usize; 3] = [32, 4, 8];

/// Weight and bias of the hidden layer, weight and bias of the output; weights by output, then by input.
type Params = [Vec<f64>; 4];

/// Inputs, example by example, and the targets of the output.
#[derive(Clone, Debug)]
struct Batch {
    /// Inputs.
    inputs: Vec<f64>,
    /// Targets.
    targets: Vec<f64>,
}

fn exactly(wanted: Vec<Expected>) -> Vec<f64> {
    wanted.into_iter().map(|wanted| wanted.value).collect()
}

/// The hidden units, after `max(x, 0)`, and the outputs.
fn forward([w1, b1, w2, b2]: &Params, batch: &Batch) -> [Vec<f64>; 2] {
    let [examples, inputs, units] = SIZES;
    let hidden = exactly(linear_relu(&batch.inputs, w1, Some(b1), [examples, inputs, units]));
    let out = exactly(linear(&hidden, w2, Some(b2), [examples, units, 1]));
    [hidden, out]
}

/// The mean of the squared errors.
fn loss(params: &Params, batch: &Batch) -> f64 {
    mse_loss(&forward(params, batch)[1], &batch.targets).value
}

/// Returns the gradient of the loss times `above`, by parameter.
fn gradients(params: &Params, batch: &Batch, above: f64) -> Params {
    let [examples, inputs, units] = SIZES;
    let [hidden, out] = forward(params, batch);
    let [d, _] = mse_loss::backward(above, &out, &batch.targets).map(exactly);
    let [d, gw2, gb2] =
        linear::backward(&d, &hidden, &params[2], [examples, units, 1]).map(exactly);
    let d = relu::backward(&d, &hidden);
    let size = [examples, inputs, units];
    let [_, gw1, gb1] = linear::backward(&d, &batch.inputs, &params[0], size).map(exactly);
    [gw1, gb1, gw2, gb2]
}

/// The loss before the first step and after each; a step that is skipped changes nothing.
fn losses(start: &Params, batch: &Batch, lr: f64, skips: &[bool]) -> Vec<f64> {
    let mut params = start.clone();
    let mut losses = vec![loss(&params, batch)];
    for skipped in skips {
        if !skipped {
            let grads = gradients(&params, batch, 1.0);
            for (p, g) in params.iter_mut().flatten().zip(grads.iter().flatten()) {
                *p = f64::from(narrow(*p - lr * g));
            }
        }
        losses.push(loss(&params, batch));
    }
    losses
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the gradients of the first step in f16, with the loss scale `scale`.
    fn first(scale: f64) -> Vec<f64> {
        let run = Run::new(DType::F16);
        let grads = gradients(&run.params, &run.batch, scale * 2.0_f64.powi(WEIGHT));
        grads.iter().flatten().map(|g| rounded(*g, DType::F16)).collect()
    }

    #[test]
    fn without_scaling_f16_loses_every_gradient_and_with_it_keeps_all_but_none() {
        assert!(first(1.0).iter().all(|g| *g == 0.0));
        let kept = first(2.0_f64.powi(24)).iter().filter(|g| **g != 0.0).count();
        assert!(kept > first(1.0).len() / 2, "{kept}");
    }

    #[test]
    fn in_f32_the_loss_falls_far_beyond_the_band() {
        let run = Run::new(DType::BF16);
        let losses = losses(&run.params, &run.batch, LR, &[false; STEPS]);
        let left = losses[STEPS] / losses[0];
        assert!(left <= 0.25, "{left} of the loss is left");
    }
}
