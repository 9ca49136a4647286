//! A seeded run of two hundred steps whose gradients sixteen bits lose unless they are scaled: what each operation by itself
//! does right may still not train.
//!
//! The loss has a weight of 2^-26, as one of several losses may, and the learning rate makes up for it. In `f16` every gradient
//! of it is below half of the least subnormal, 2^-25, and so zero, until it is scaled; in `bf16` none is, and the scale is 1.
//! Three steps overflow on purpose.
//!
//! The oracle trains a network of two layers by gradient descent on one batch. Only its parameters are rounded, to `f32`.

use super::cast::rounded;
use super::prelude::*;
use super::scale_update;
use super::training::narrow;
use super::unscale::factor;
use crate::OpInvocation::{Linear, LinearBackward, MseLossBackward, Relu, ReluBackward};
use crate::{IterationFindings, PassFinding, Result, TrainStep};
use binade_grad_scaler::{LossScale, ScaleState, UpdateInputs};
use binade_master_weights::UpdateRule;

const STEPS: usize = 200;
const OVERFLOWS: [usize; 3] = [60, 61, 140];
const WEIGHT: i32 = -26;
/// Of the loss without its weight.
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

/// Parameters on the subject's side, which stay there from step to step, and what they hold.
struct Held<T> {
    tensors: Vec<Named<T>>,
    values: Params,
}

/// Gradients of these parameters, with `above` from above, in sixteen bits.
type Backward<S> = fn(&S, &Run, &Held<Tensor<S>>, f64) -> Result<Vec<Stored>, CaseError>;

impl Run {
    /// Inputs and targets are multiples of 1/16 that both types hold, so that both learn the same.
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

    /// How far a loss may be from that of `f32`, as a share of the first: half a unit of the type, as one rounding of 1 has.
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
        let mut tensors = Vec::new();
        for ((name, shape), values) in NAMES.iter().zip(shapes()).zip(&self.params) {
            let param = Stored::from_values(DType::F32, &shape, values.iter().copied());
            tensors.push(Named::new(*name, put(s, &param)?));
        }
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

    /// One step of masters that are the parameters: `f32` comes back, and begins the next.
    fn step<S: Backend>(
        &self,
        s: &S,
        held: Held<Tensor<S>>,
        grads: &[Stored],
        scale: ScaleState,
    ) -> Result<(Held<Tensor<S>>, ScaleState), CaseError> {
        let found = s.unscale(set(s, grads)?, scale)?.found;
        // What the weight of the loss takes away, the learning rate gives back.
        let rule = UpdateRule::sgd(LR * 2.0_f64.powi(-WEIGHT));
        let turn = TrainStep { rule, grads: set(s, grads)?, scale, clip: None, beside: None };
        let held = read(s, s.train(held.tensors, vec![turn])?)?;
        let pass = PassFinding { raised: found.is_raised(), magnitude: found.magnitude };
        let round = IterationFindings { parts: vec![pass], verdicts: vec![pass] };
        Ok((held, s.update_scale(&self.rule, scale, &round)?))
    }
}

/// From 2^24, and up several times on the way.
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

/// Gradients on the subject's side.
fn set<S: Backend>(s: &S, grads: &[Stored]) -> Result<NamedGrads<Tensor<S>>> {
    let one = |(name, grad): (&&str, &Stored)| Ok(Named::new(*name, Some(put(s, grad)?)));
    NAMES.iter().zip(grads).map(one).collect()
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

/// As the oracle has them, rounded once: for who has neither casts nor operations.
#[expect(clippy::unnecessary_wraps, reason = "on the device it may fail")]
fn on_host<S: Backend>(
    _: &S,
    run: &Run,
    held: &Held<Tensor<S>>,
    above: f64,
) -> Result<Vec<Stored>, CaseError> {
    let grads = gradients(&held.values, &run.batch, above);
    let pairs = grads.iter().zip(shapes());
    Ok(pairs
        .map(|(grad, shape)| Stored::from_values(run.dtype, &shape, grad.iter().copied()))
        .collect())
}

/// By the subject's own casts and operations, forward and backward, all in sixteen bits.
fn on_device<S: Backend>(
    s: &S,
    run: &Run,
    held: &Held<Tensor<S>>,
    above: f64,
) -> Result<Vec<Stored>, CaseError> {
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
    let pairs = [gw1, gb1, gw2, gb2].into_iter().zip(shapes());
    pairs.map(|(grad, shape)| get(s, &grad, run.dtype, &shape)).collect()
}

/// As many results as there have to be.
fn taken<T, const N: usize>(results: Vec<T>) -> Result<[T; N]> {
    let count = results.len();
    results.try_into().map_err(|_| SubjectError::Failed(format!("{count} results instead of {N}")))
}

/// Agreement: a loss of the run within a share of the first loss, which is
/// 2^-11 in `f16` and 2^-8 in `bf16`, the error of one rounding of 1. The roundings of all steps together are far below it,
/// since gradients of either sign make up for each other.
pub(super) const AGREEMENT: Agrees = |_| Agreement::Bound { c: 1.0 };

// The oracle.

/// Examples in the batch, inputs of each, hidden units; there is one output.
const SIZES: [usize; 3] = [32, 4, 8];

/// Weight and bias of the hidden layer, weight and bias of the output; weights by output, then by input.
type Params = [Vec<f64>; 4];

/// Inputs, example by example, and what the output is to be.
#[derive(Clone, Debug)]
struct Batch {
    /// Inputs.
    inputs: Vec<f64>,
    /// Targets.
    targets: Vec<f64>,
}

/// The hidden units of one example, after `max(x, 0)`.
fn hidden(params: &Params, x: &[f64]) -> Vec<f64> {
    let [w, b, ..] = params;
    let unit =
        |(w, b): (&[f64], &f64)| (b + w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>()).max(0.0);
    w.chunks(x.len()).zip(b).map(unit).collect()
}

/// Of each example its input, its hidden units, and how far the output is beyond the target.
fn forward<'b>(params: &Params, batch: &'b Batch) -> Vec<(&'b [f64], Vec<f64>, f64)> {
    let examples = batch.inputs.chunks(SIZES[1]).zip(&batch.targets);
    let one = |(x, target): (&'b [f64], &f64)| {
        let h = hidden(params, x);
        let out = params[3][0] + params[2].iter().zip(&h).map(|(w, h)| w * h).sum::<f64>();
        (x, h, out - target)
    };
    examples.map(one).collect()
}

/// The mean of the squared errors.
fn loss(params: &Params, batch: &Batch) -> f64 {
    let errors = forward(params, batch);
    let n = count(errors.len());
    errors.iter().map(|(_, _, error)| error * error).sum::<f64>() / n
}

/// By parameter the gradient of the loss times `above`.
fn gradients(params: &Params, batch: &Batch, above: f64) -> Params {
    let mut grads = params.each_ref().map(|param| vec![0.0; param.len()]);
    let examples = forward(params, batch);
    let n = count(examples.len());
    for (x, h, error) in examples {
        let d = above * 2.0 * error / n;
        grads[3][0] += d;
        for (unit, h) in h.into_iter().enumerate() {
            grads[2][unit] += d * h;
            // A unit that gave nothing learns nothing.
            let back = if h > 0.0 { d * params[2][unit] } else { 0.0 };
            grads[1][unit] += back;
            for (input, x) in x.iter().enumerate() {
                grads[0][unit * SIZES[1] + input] += back * x;
            }
        }
    }
    grads
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

    #[test]
    fn the_gradient_is_what_central_differences_say() {
        let [examples, inputs, units] = SIZES;
        let wave = |n: usize, step: f64| {
            (0..n).map(|i| (step * (count(i) + 1.0)).sin()).collect::<Vec<f64>>()
        };
        let batch = Batch { inputs: wave(examples * inputs, 0.7), targets: wave(examples, 1.3) };
        let params = [wave(units * inputs, 0.3), wave(units, 0.9), wave(units, 1.7), vec![0.1]];
        let (grads, h) = (gradients(&params, &batch, 3.0), 1e-6);
        for which in 0..params.len() {
            for index in 0..params[which].len() {
                let moved = |by: f64| {
                    let mut params = params.clone();
                    params[which][index] += by;
                    3.0 * loss(&params, &batch)
                };
                let difference = (moved(h) - moved(-h)) / (2.0 * h);
                assert!((difference - grads[which][index]).abs() <= 1e-6, "{which} {index}");
            }
        }
    }

    /// As f16 has them before the first step, with a scale or without.
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
